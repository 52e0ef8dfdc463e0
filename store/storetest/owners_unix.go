//go:build unix

package storetest

import (
	"os"
	"syscall"
)

// stop stops a process, until resume.
func stop(p *os.Process) bool { return p.Signal(syscall.SIGSTOP) == nil }

func resume(p *os.Process) { _ = p.Signal(syscall.SIGCONT) }
