package cputime

import (
	"syscall"
	"time"
)

// Used returns the CPU time of this process so far, in user and in system mode.
// Windows counts it in ticks of its clock, of about 16 ms.
func Used() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var begin, end, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &begin, &end, &kernel, &user); err != nil {
		return 0
	}
	return span(kernel) + span(user)
}

// span is a length of time, which has the form of a date in units of 100 ns.
func span(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
