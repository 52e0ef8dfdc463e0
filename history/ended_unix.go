//go:build !windows

package history

import (
	"errors"
	"os"
	"syscall"
)

// hasEnded reports whether a process is over.
func hasEnded(p *os.Process) bool { return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) }
