//go:build unix

package tee

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Signals returns the signals to pass on, and a function that stops listening for them.
// SIGPIPE is also caught, but not passed on: otherwise a write to a pipe without a
// reader would end this process before the recording is complete.
func Signals() (signals <-chan os.Signal, stop func()) {
	all, pipe := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(all, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	signal.Notify(pipe, syscall.SIGPIPE)
	return all, func() { signal.Stop(all); signal.Stop(pipe) }
}

// outcome returns how a process ended.
func outcome(state *os.ProcessState) (code int, sig os.Signal) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), status.Signal()
	}
	return state.ExitCode(), nil
}

// DieBySignal ends this process by a signal, as the child has ended. It returns if the
// signal does not end it.
func DieBySignal(sig os.Signal) {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	signal.Reset(number)
	_ = syscall.Kill(os.Getpid(), number) // if not, it returns
	<-time.After(time.Second)             // a signal may be on its way
}
