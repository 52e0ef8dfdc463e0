//go:build unix

package claudetest

import (
	"os"
	"syscall"
)

// signalSelf ends this process by a signal.
func signalSelf(name string) {
	_ = syscall.Kill(os.Getpid(), syscall.Signal(signalNumber(name)))
	select {} // the signal is on its way
}
