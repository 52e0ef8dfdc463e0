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

// sweepPause is the time between two looks at the process table.
const sweepPause = 10 * time.Millisecond

// sweep kills everything that carries the mark, in whatever session, and looks
// again until nothing is left: a process may fork while it is looked at.
func (g *group) sweep(deadline time.Time) {
	g.until(deadline, func() int { return g.signalMarked(syscall.SIGKILL, false) })
}

// endMembers ends marked processes that are still in the child's group after
// the child has exited: SIGTERM, then SIGKILL when the bound is over.
func (g *group) endMembers(bound time.Duration) {
	if g.signalMarked(syscall.SIGTERM, true) == 0 {
		return
	}
	deadline := time.Now().Add(bound)
	if !g.until(deadline, func() int { return g.signalMarked(0, true) }) {
		g.until(deadline.Add(bound), func() int { return g.signalMarked(syscall.SIGKILL, true) })
	}
}

// until calls f, once at least, until it finds nothing more. It reports false
// when the deadline came first.
func (g *group) until(deadline time.Time, f func() int) bool {
	over := time.NewTimer(time.Until(deadline))
	defer over.Stop()
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for f() > 0 {
		select {
		case <-over.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// signalMarked signals every marked process and returns how many it found.
func (g *group) signalMarked(sig syscall.Signal, members bool) int {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	found := 0
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if members && !g.hasMember(pid) {
			continue
		}
		if g.signalIfMarked(pid, sig) {
			found++
		}
	}
	return found
}

func (g *group) hasMember(pid int) bool {
	id, err := unix.Getpgid(pid)
	return err == nil && id == g.id
}

// signalIfMarked looks at the mark between taking hold of the process and
// signalling it. The hold is a pidfd, so the signal cannot reach a later
// process with the same number.
func (g *group) signalIfMarked(pid int, sig syscall.Signal) bool {
	if !g.marked(pid) {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release()
	return g.marked(pid) && process.Signal(sig) == nil
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
