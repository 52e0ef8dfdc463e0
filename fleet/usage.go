package fleet

import (
	"errors"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/proc"
)

// ProcessUsage is what the CLI of a conversation and all that it has started use at a
// moment.
type ProcessUsage struct {
	Memory    int64 // bytes
	Processes int
}

// errNoProcess means that the transport does not name a process.
var errNoProcess = errors.New("the transport does not say which process the CLI is")

// measure is the Measure of a fleet that has none.
func measure(s *claude.Session) (ProcessUsage, error) {
	pid := s.PID()
	if pid == 0 {
		return ProcessUsage{}, errNoProcess
	}
	u, err := proc.Measure(pid)
	return ProcessUsage(u), err
}

// measureAgain is how often a CLI is measured that works in the background.
const measureAgain = 10 * time.Second

// keepLimits ends a CLI that uses more than it may. The conversation then
// sleeps, or continues with a fresh one.
func (w *waking) keepLimits() {
	if w.session == nil || !w.exceeds(w.session) {
		return
	}
	if err := w.close(); err != nil {
		w.f.opts.Logger.Error("a conversation did not end well", "conversation", w.c.key, "error", err)
	}
}

// exceeds reports whether a CLI uses more than it may.
func (w *waking) exceeds(s *claude.Session) bool {
	l, err := w.f.budgets.limits(w.c.key)
	if err != nil || l.MaxMemory == 0 && l.MaxProcesses == 0 {
		return false // what is wrong with the limits is said where prompts begin
	}
	u, err := w.f.opts.Measure(s)
	if err != nil {
		w.f.opts.Logger.Warn("what a CLI uses could not be measured, so it is not limited", "conversation", w.c.key, "error", err)
		return false
	}
	if (l.MaxMemory == 0 || u.Memory <= l.MaxMemory) && (l.MaxProcesses == 0 || u.Processes <= l.MaxProcesses) {
		return false
	}
	w.f.opts.Logger.Warn("a CLI uses more than it may, so it is ended", "conversation", w.c.key,
		"memory", u.Memory, "max_memory", l.MaxMemory, "processes", u.Processes, "max_processes", l.MaxProcesses)
	return true
}
