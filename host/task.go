package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// outcome is how the work of a subagent has ended.
type outcome struct {
	status message.TaskStatus
	text   string
}

func outcomeOf(err error, text string) outcome {
	switch {
	case errors.Is(err, errStopped):
		return outcome{message.TaskStopped, ""}
	case err != nil:
		return outcome{message.TaskFailed, err.Error()}
	}
	return outcome{message.TaskCompleted, text}
}

// tasks are the subagents of a session, and those among them that work in the
// background. The lock of the session guards them: a subagent is on the list,
// ending or queued to be answered, and never none of these.
type tasks struct {
	s      *session
	list   []*subagent // at work in the background
	ending int         // of those that were, not yet queued to be answered
	stats  message.SubagentStats
}

// spawned counts a subagent, and lists it if it works in the background.
func (w *tasks) spawned(sub *subagent) {
	w.s.mu.Lock()
	st := &w.stats
	st.Spawned++
	switch b := sub.input.Background; {
	case b == nil:
		st.Requested.Unset++
	case *b:
		st.Requested.Background++
	default:
		st.Requested.Foreground++
	}
	if st.ByType == nil {
		st.ByType = make(map[string]int)
	}
	st.ByType[sub.Type]++
	st.MaxDepth = max(st.MaxDepth, sub.depth)
	if sub.depth > 1 {
		st.SpawnedBySubagents++
	}
	if !sub.background {
		w.s.mu.Unlock()
		return
	}
	st.StartedInBackground++
	w.list = append(w.list, sub)
	list := w.message()
	w.s.mu.Unlock()
	_ = w.s.emit(list)
}

// message is the message that lists what works in the background. The caller
// holds the lock.
func (w *tasks) message() *message.BackgroundTasks {
	m := &message.BackgroundTasks{Tasks: []message.BackgroundTask{}}
	for _, sub := range w.list {
		m.Tasks = append(m.Tasks, message.BackgroundTask{
			TaskID: sub.ID, RunID: sub.run, TaskType: agentTask, SubagentType: sub.Type, Description: sub.Description,
		})
	}
	return m
}

// running are the agents in the background as hooks see them.
func (w *tasks) running() []hookTask {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	tasks := []hookTask{}
	for _, sub := range w.list {
		tasks = append(tasks, hookTask{sub.ID, "subagent", "running", sub.Description, sub.Type})
	}
	return tasks
}

type hookTask struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	AgentType   string `json:"agent_type"`
}

// completed reports that a subagent is done.
func (w *tasks) completed(sub *subagent, text string) {
	w.count(func(st *message.SubagentStats) { st.Completed++ })
	w.tell(sub, message.TaskPatch{Status: message.TaskCompleted}, &message.TaskNotification{
		Status: message.TaskCompleted, Summary: text, Usage: sub.taskUsage(),
	})
}

// failed reports that a subagent could not do its work.
func (w *tasks) failed(sub *subagent, err error) {
	w.count(func(st *message.SubagentStats) { st.Failed++ })
	w.tell(sub, message.TaskPatch{Status: message.TaskFailed, Error: err.Error()}, &message.TaskNotification{
		Status: message.TaskFailed, Summary: err.Error(),
	})
}

// killed reports that a subagent was stopped, and returns why.
func (w *tasks) killed(t *Turn) error {
	cause := context.Cause(t.ctx)
	if w.s.ctx.Err() != nil {
		return cause
	}
	w.count(func(st *message.SubagentStats) { st.Killed.User++ })
	w.tell(t.sub, message.TaskPatch{Status: "killed"}, &message.TaskNotification{
		Status: message.TaskStopped, Summary: t.sub.Description,
	})
	return cause
}

func (w *tasks) count(add func(*message.SubagentStats)) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	add(&w.stats)
}

// tell sends the two messages that end a task.
func (w *tasks) tell(sub *subagent, patch message.TaskPatch, m *message.TaskNotification) {
	patch.EndTime = time.Now().UnixMilli()
	_ = w.s.emit(&message.TaskUpdated{TaskID: sub.ID, RunID: sub.run, Patch: patch})
	m.TaskID, m.RunID, m.ToolUseID = sub.ID, sub.run, sub.ToolUseID
	_ = w.s.emit(m)
}

// end takes a subagent off the list of what works in the background.
func (w *tasks) end(sub *subagent) {
	w.s.mu.Lock()
	w.list = slices.DeleteFunc(w.list, func(other *subagent) bool { return other == sub })
	w.ending++ // until it is answered, or the answer is no longer wanted
	list := w.message()
	w.s.mu.Unlock()
	_ = w.s.emit(list)
}

// notify queues the turn that answers the end of a subagent.
func (w *tasks) notify(sub *subagent, o outcome) {
	text := "<task-notification>\n<task-id>" + sub.ID + "</task-id>\n<tool-use-id>" + sub.ToolUseID + "</tool-use-id>\n" +
		"<status>" + string(o.status) + "</status>\n<summary>Agent \"" + sub.Description + "\": " + string(o.status) + "</summary>\n" +
		"<result>" + o.text + "</result>\n</task-notification>"
	m := message.NewUser(message.Text(text))
	m.IsSynthetic = true
	w.s.mu.Lock()
	w.ending--
	w.s.queue = append(w.s.queue, &queued{User: m, ended: sub})
	w.s.mu.Unlock()
	w.s.wakeRunner()
}

// settle reports that the session is idle, if the last of its agents has ended
// without a turn that would answer it.
func (w *tasks) settle() {
	w.s.mu.Lock()
	w.ending--
	busy := w.s.turn != nil || len(w.s.queue) > 0
	w.s.mu.Unlock()
	if !busy && !w.s.working() {
		w.s.state(message.ActivityIdle)
	}
	w.s.wakeRunner()
}

// atWork is working without what waits to be answered. The caller holds the
// lock.
func (w *tasks) atWork() bool { return len(w.list) > 0 || w.ending > 0 }

// await waits until no agent is at work in the background.
func (w *tasks) await() {
	for {
		w.s.mu.Lock()
		tasks := slices.Clone(w.list)
		w.s.mu.Unlock()
		if len(tasks) == 0 {
			return
		}
		for _, sub := range tasks {
			w.s.await(sub.done)
		}
		if w.s.ctx.Err() != nil {
			return
		}
	}
}

// stop ends agents in the background and waits until that was told.
func (w *tasks) stop(cause error, which func(*subagent) bool) {
	w.s.mu.Lock()
	tasks := slices.Clone(w.list)
	w.s.mu.Unlock()
	for _, sub := range tasks {
		if which(sub) {
			sub.cancel(cause)
			w.s.await(sub.done)
		}
	}
}
