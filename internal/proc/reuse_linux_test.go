package proc

import (
	"os/exec"
	"syscall"
	"testing"
)

// A session leader that took the number of a group is not taken for the group: it
// began after the group was seen.
func TestLedGroupOfALaterLeader(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	pid := cmd.Process.Pid
	start := startOf(pid)
	if now := ticks(); start == 0 || start > now || now-start > 60*100 {
		t.Fatalf("it began at %d, and now is %d", start, now)
	}
	if !(ledGroups{pid: {session: pid, seen: start}}).has(pid) {
		t.Error("the leader of the group is not in it")
	}
	if (ledGroups{pid: {session: pid, seen: start - 1}}).has(pid) {
		t.Error("a leader that began later is taken for the group")
	}
	if (ledGroups{pid: {session: pid + 1, seen: start}}).has(pid) {
		t.Error("a leader of another session is taken for the group")
	}
	if startOf(1<<30) != 0 {
		t.Error("a process that is not there has begun")
	}
}
