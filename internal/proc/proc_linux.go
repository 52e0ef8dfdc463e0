package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
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

// endLeftovers ends the rest of the child's group, the processes that carry its
// mark in whatever session, and the groups that such a process leads: SIGTERM, and
// SIGKILL to the survivors when the patience is over, or hurried reports that it has
// to end at once. The child has exited and is not collected, so the group is still
// its own. It reports false when something is still left after the bound.
func (g *group) endLeftovers(patience, bound time.Duration, hurried func() bool) bool {
	rest := leftovers{}
	defer rest.release()
	led := g.ledGroups() // before a leader is signalled: it may end first
	g.noted.addTo(led)
	return endBySignals(patience, bound, hurried, func(sig syscall.Signal) bool {
		return g.signalLeftovers(sig, led, rest) == 0 && rest.gone()
	})
}

// killMarked kills what carries the mark of a child that does not exit itself.
func (g *group) killMarked(bound time.Duration) {
	rest := leftovers{}
	defer rest.release()
	pollUntil(bound, func() bool { return g.signalEach(syscall.SIGKILL, g.marked(), rest) == 0 })
}

// signalLeftovers signals every process of the group, every marked one and every one
// of the groups that a marked one leads, and returns how many there are.
func (g *group) signalLeftovers(sig syscall.Signal, led ledGroups, rest leftovers) int {
	marked := g.marked()
	return g.signalEach(sig, func(pid int) bool { return g.hasMember(pid) || marked(pid) || led.has(pid) }, rest)
}

// ledGroups are the groups that marked processes lead, by their number.
// A shell of the CLI leads one, so what it has started with another environment is
// found as long as the shell lives.
type ledGroups map[int]ledGroup

// ledGroup is how a group is recognized when its leader has gone.
type ledGroup struct {
	session int
	seen    uint64 // when, in the ticks of [startOf]
}

// ledGroups looks for them. The group of this process is never one.
func (g *group) ledGroups() ledGroups {
	led, marked := make(ledGroups), g.marked()
	for _, pid := range processes() {
		if id, err := unix.Getpgid(pid); err != nil || id != pid || id == g.id || id == unix.Getpgrp() || !marked(pid) {
			continue
		}
		if session, err := unix.Getsid(pid); err == nil {
			led[pid] = ledGroup{session, ticks()}
		}
	}
	return led
}

// notedGroups are led groups as they were before the child was asked to end. It may end
// their leaders, and then nothing shows whose the other members are. These
// are held: as long as one of them lives, the number of its group is not another's.
type notedGroups struct {
	mu     sync.Mutex
	groups map[int]notedGroup
}

type notedGroup struct {
	ledGroup
	members leftovers
}

// note looks for the groups that marked processes lead now.
func (g *group) note() {
	led := g.ledGroups()
	if len(led) == 0 {
		return
	}
	g.noted.mu.Lock()
	defer g.noted.mu.Unlock()
	if g.noted.groups == nil {
		g.noted.groups = make(map[int]notedGroup)
	}
	for id, group := range led {
		g.noted.groups[id].members.release() // of an earlier look
		g.noted.groups[id] = notedGroup{group, leftovers{}}
	}
	for _, pid := range processes() {
		if id, err := unix.Getpgid(pid); err == nil && led.has(pid) {
			if p, err := os.FindProcess(pid); err == nil {
				if noted, led := g.noted.groups[id]; led { // it may have moved since
					noted.members.keep(p)
				} else {
					_ = p.Release()
				}
			}
		}
	}
}

// addTo adds the groups that still have one of the members they had, and lets go of all.
func (n *notedGroups) addTo(led ledGroups) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, noted := range n.groups {
		for pid, p := range noted.members {
			if now, err := unix.Getpgid(pid); err == nil && now == id && p.Signal(syscall.Signal(0)) == nil {
				led[id] = noted.ledGroup
			}
		}
		noted.members.release()
	}
	n.groups = nil
}

// has reports whether a process is in one of the groups and has not exited. A group
// that took the number of one that is gone is in another session, or, if it leads a
// session itself, has a leader that began later.
func (l ledGroups) has(pid int) bool {
	id, err := unix.Getpgid(pid)
	if err != nil {
		return false
	}
	group, ok := l[id]
	if !ok {
		return false
	}
	now, err := unix.Getsid(pid)
	return err == nil && now == group.session && startOf(id) <= group.seen && !exited(pid)
}

// startOf returns when a process began, 0 if it is not there: in hundredths of a
// second since the machine started.
func startOf(pid int) uint64 {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name of the program may hold any character; the 20th field behind it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	start, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return start
}

// ticks is now, as startOf counts.
func ticks() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 1<<64 - 1 // then numbers are trusted
	}
	return uint64(now.Sec)*100 + uint64(now.Nsec)/1e7
}

// processes returns the numbers of all processes but this one.
func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// signalEach signals the processes that are ours, the child itself excepted,
// keeps them in rest, and returns how many there are. A process is looked
// at again between taking hold of it and signalling it. The hold is a pidfd, so
// the signal cannot reach a later process with the same number.
func (g *group) signalEach(sig syscall.Signal, ours func(pid int) bool, rest leftovers) (found int) {
	for _, pid := range processes() {
		if pid == g.id || !ours(pid) {
			continue
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if ours(pid) && process.Signal(sig) == nil {
			found++
			rest.keep(process)
		} else {
			process.Release()
		}
	}
	return found
}

// leftovers are the processes that were found, by their number. One that is on its
// way out is found no more, because its environment goes first, but it may still
// hold the pipes.
type leftovers map[int]*os.Process

func (r leftovers) keep(p *os.Process) {
	if old := r[p.Pid]; old != nil {
		old.Release()
	}
	r[p.Pid] = p
}

// gone reports whether all of them have exited.
func (r leftovers) gone() bool {
	for pid, p := range r {
		if p.Signal(syscall.Signal(0)) == nil && !exited(pid) {
			return false
		}
	}
	return true
}

func (r leftovers) release() {
	for _, p := range r {
		p.Release()
	}
}

// hasMember reports whether a process is in the group and has not exited.
func (g *group) hasMember(pid int) bool {
	id, err := unix.Getpgid(pid)
	return err == nil && id == g.id && !exited(pid)
}

// exited reports whether a process is a zombie, or not there at all.
func exited(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	// The name before it is in parentheses, and may hold any character.
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(state, []byte(" Z")) || bytes.HasPrefix(state, []byte(" X"))
}
