//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Children returns the CPU time of all processes that this one, or they in turn, have
// started and waited for.
func Children() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
