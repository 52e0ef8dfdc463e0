package history

import (
	"os"
	"syscall"
)

// hasEnded reports whether a process is over. It can be found for as long as another
// process holds a handle of it.
func hasEnded(p *os.Process) (ended bool) {
	err := p.WithHandle(func(handle uintptr) {
		event, err := syscall.WaitForSingleObject(syscall.Handle(handle), 0)
		ended = err == nil && event == syscall.WAIT_OBJECT_0
	})
	return ended || err != nil
}
