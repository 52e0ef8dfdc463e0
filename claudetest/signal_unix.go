//go:build unix

package claudetest

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalPatience is how long a signal may be on its way.
const signalPatience = time.Second

// signalSelf ends this process by a signal. One that it was started to ignore
// does not end it; then it exits as if.
func signalSelf(name string) {
	number := syscall.Signal(signalNumber(name))
	signal.Reset(number) // or the process would handle it
	_ = syscall.Kill(os.Getpid(), number)
	<-time.After(signalPatience)
	os.Exit(128 + int(number))
}
