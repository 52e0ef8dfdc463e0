//go:build unix

package store_test

import (
	"os"
	"syscall"
)

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
