package inbox

import (
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

// work tracks the tasks beside the turns: background agents, workflows and shell
// commands. When an agent ends, the CLI answers it in a turn of its own, and
// between the two nothing seems to run. Newer CLIs report when they are idle: not
// before every agent is answered, but while a shell command still runs.
type work struct {
	tasks        []task
	reportsIdle  bool // the CLI reports whether it is idle
	idle         bool // it said so last
	agentPending bool // an agent was at work since the CLI was idle
}

type task struct {
	Type string `json:"task_type"`
}

// isAgent reports whether a task may ask for something or start a turn that is
// waited for. Shell commands do not count.
func (t task) isAgent() bool { return !strings.Contains(t.Type, "bash") }

func (w *work) tasksChanged(f wire.Frame) {
	w.tasks = nil
	_ = jsonx.Unmarshal(f.Member("tasks"), &w.tasks) // an odd list counts as none
	w.agentPending = w.agentPending || w.reportsIdle && !w.idle && w.hasAgents()
}

func (w *work) stateChanged(f wire.Frame) {
	w.idle = f.Text("state") == "idle"
	w.agentPending = !w.idle && (w.agentPending || !w.reportsIdle && w.hasAgents())
	w.reportsIdle = true
}

func (w *work) hasAgents() bool { return slices.ContainsFunc(w.tasks, task.isAgent) }

// Activity is the CLI's current work, as far as its frames show.
type Activity struct {
	Turn      bool // a turn runs, or the CLI reports that it is not idle
	Replaying bool // the CLI continues what a session that was resumed left
	Queued    int  // prompts whose turn has not begun
	Agents    int  // background agents and workflows that work or are not yet answered
	Shells    int  // shell commands in the background
}

// Activity returns the current activity of the CLI.
func (b *Inbox) Activity() Activity {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.turns
	a := Activity{
		Turn:      t.current != nil || t.work.reportsIdle && !t.work.idle,
		Replaying: t.unasked != "",
	}
	for _, p := range t.pending {
		if p.progress == Waiting {
			a.Queued++
		} else {
			a.Turn = true
		}
	}
	for _, task := range t.work.tasks {
		if task.isAgent() {
			a.Agents++
		} else {
			a.Shells++
		}
	}
	if a.Agents == 0 && t.work.agentPending {
		a.Agents = 1 // one that has ended is answered next
	}
	return a
}

// agentAtWork reports whether a background agent or workflow is at work, or has
// ended and is not yet answered. A CLI that reports when it is idle is believed;
// for others the list of tasks and the turns must do.
func (t *turns) agentAtWork() bool {
	if t.work.reportsIdle {
		return t.work.agentPending
	}
	return t.work.hasAgents() || t.current != nil && len(t.current.prompts) == 0
}
