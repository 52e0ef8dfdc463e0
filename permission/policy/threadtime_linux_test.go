package policy_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long this thread has been running.
func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}
