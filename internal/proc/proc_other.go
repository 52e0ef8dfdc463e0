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

// sweep does nothing: these systems do not show environments to everybody.
func (g *group) sweep(time.Time) {}

func (g *group) endMembers(time.Duration) {}
