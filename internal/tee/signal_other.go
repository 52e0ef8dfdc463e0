//go:build !unix

package tee

import (
	"os"
	"os/signal"
)

// Signals returns the signals to pass on, and a function that stops listening for them.
func Signals() (signals <-chan os.Signal, stop func()) {
	all := make(chan os.Signal, 16)
	signal.Notify(all, os.Interrupt)
	return all, func() { signal.Stop(all) }
}

// outcome returns how a process ended.
func outcome(state *os.ProcessState) (code int, sig os.Signal) { return state.ExitCode(), nil }

// DieBySignal does nothing: processes end by exit codes here.
func DieBySignal(os.Signal) {}
