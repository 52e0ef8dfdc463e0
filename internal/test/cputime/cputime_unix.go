//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Used returns the CPU time of this process so far, in user and in system mode.
func Used() time.Duration { return of(syscall.RUSAGE_SELF) }

// Children returns the CPU time of all processes that this one, or they in turn, have
// started and waited for.
func Children() time.Duration { return of(syscall.RUSAGE_CHILDREN) }

func of(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
