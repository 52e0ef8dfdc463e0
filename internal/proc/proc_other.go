//go:build unix && !linux

package proc

import (
	"syscall"
	"time"
)

// sysProcAttr asks for a group of its own. These systems have no signal on the
// parent's death: the CLI sees the end of its standard input instead.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitExit does nothing here. So there is a blink between the reaping and the
// moment we know of it in which a group signal would go to a number that is
// free. It would have to be given away in that blink to do harm.
func awaitExit(int) bool { return false }

// endLeftovers ends the rest of the child's group: SIGTERM, and SIGKILL when the
// patience is over, or hurried reports that it has to end at once. Processes in other
// sessions are not found, because these systems do not show their environments. The child is collected already, but no
// system gives the number of a group away while it has members; without any there
// is the blink again.
func (g *group) endLeftovers(patience, bound time.Duration, hurried func() bool) bool {
	return endBySignals(patience, bound, hurried, func(sig syscall.Signal) bool { return syscall.Kill(-g.id, sig) != nil })
}

// notedGroups is empty here: groups of shells are not found.
type notedGroups struct{}

func (g *group) note() {}

// killMarked does nothing: a child that does not exit has its group signalled.
func (g *group) killMarked(time.Duration) {}
