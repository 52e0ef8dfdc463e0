package inbox

import (
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

// work is what runs beside the turns: background agents, workflows and shell
// commands. When an agent ends, the CLI answers it in a turn of its own, and
// between the two nothing seems to run. Newer CLIs say when they are idle: not
// before every agent is answered, but while a shell command still runs.
type work struct {
	tasks        []task
	reportsIdle  bool // the CLI says whether it is idle
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

// agentAtWork reports whether a background agent or workflow is at work, or has
// ended and is not yet answered. A CLI that says when it is idle is believed; of
// others the list of tasks and the turns must do.
func (t *turns) agentAtWork() bool {
	if t.work.reportsIdle {
		return t.work.agentPending
	}
	return t.work.hasAgents() || t.current != nil && len(t.current.prompts) == 0
}
