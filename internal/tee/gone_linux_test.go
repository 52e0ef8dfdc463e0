package tee_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const killedTeeTellsChild = true

// awaitGone waits for the end of a process that is not our child.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // gone already
	}
	defer unix.Close(fd)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Minute/time.Millisecond)); n != 1 {
		t.Errorf("the child lives on: %v", err)
	}
}
