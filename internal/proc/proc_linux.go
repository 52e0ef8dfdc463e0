package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sysProcAttr asks for a group of its own and for SIGTERM when this process
// dies. SIGTERM, because the CLI then ends its shells.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// awaitExit waits for the exit without reaping, so that the caller can reap
// while it keeps group signals out.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// endRest ends what is left of the child's group, and what carries its mark in
// whatever session: SIGTERM, and SIGKILL to what is there when the patience is
// over. The child has exited and is not collected, so the group is still its
// own. It reports false when something is left when the bound is over, too.
func (g *group) endRest(patience, bound time.Duration) bool {
	if patience > 0 {
		if g.signalRest(syscall.SIGTERM) == 0 {
			return true
		}
		// A suspended process handles SIGTERM only when it is continued.
		g.signalRest(syscall.SIGCONT)
		if until(patience, func() bool { return g.signalRest(0) == 0 }) {
			return true
		}
	}
	return until(bound, func() bool { return g.signalRest(syscall.SIGKILL) == 0 })
}

// sweep kills what carries the mark of a child that does not exit itself.
func (g *group) sweep(bound time.Duration) {
	until(bound, func() bool { return g.signalEach(syscall.SIGKILL, g.marked) == 0 })
}

// signalRest signals every process of the group and every marked one, and
// returns how many there are.
func (g *group) signalRest(sig syscall.Signal) int {
	return g.signalEach(sig, func(pid int) bool { return g.hasMember(pid) || g.marked(pid) })
}

// signalEach signals the processes that are ours, the child itself excepted, and
// returns how many there are. A process is looked at again between taking hold
// of it and signalling it. The hold is a pidfd, so the signal cannot reach a
// later process with the same number.
func (g *group) signalEach(sig syscall.Signal, ours func(pid int) bool) (found int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() || pid == g.id || !ours(pid) {
			continue
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if ours(pid) && process.Signal(sig) == nil {
			found++
		}
		process.Release()
	}
	return found
}

// hasMember reports whether a process is in the group and not a zombie.
func (g *group) hasMember(pid int) bool {
	if id, err := unix.Getpgid(pid); err != nil || id != g.id {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// The name before it is in parentheses, and may hold any character.
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(state, []byte(" Z")) && !bytes.HasPrefix(state, []byte(" X"))
}

// marked reports whether the environment of a process holds the mark. That of
// a zombie is empty, that of another user's process cannot be read.
func (g *group) marked(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	entry := []byte(MarkVariable + "=" + g.mark)
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(e, entry) {
			return true
		}
	}
	return false
}
