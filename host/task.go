package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
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

// spawned counts a subagent, and lists it if it works in the background.
func (s *session) spawned(sub *subagent) {
	s.mu.Lock()
	st := &s.stats
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
		s.mu.Unlock()
		return
	}
	st.StartedInBackground++
	s.tasks = append(s.tasks, sub)
	list := s.taskList()
	s.mu.Unlock()
	_ = s.emit(list)
}

// taskList is the message that lists what works in the background. The caller
// holds the lock.
func (s *session) taskList() *message.BackgroundTasks {
	m := &message.BackgroundTasks{Tasks: []message.BackgroundTask{}}
	for _, sub := range s.tasks {
		m.Tasks = append(m.Tasks, message.BackgroundTask{
			TaskID: sub.ID, RunID: sub.run, TaskType: agentTask, SubagentType: sub.Type, Description: sub.Description,
		})
	}
	return m
}

// runningTasks are the agents in the background as hooks see them.
func (s *session) runningTasks() []hookTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	tasks := []hookTask{}
	for _, sub := range s.tasks {
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
func (s *session) completed(sub *subagent, text string) {
	s.count(func(st *message.SubagentStats) { st.Completed++ })
	s.tell(sub, message.TaskPatch{Status: message.TaskCompleted}, &message.TaskNotification{
		Status: message.TaskCompleted, Summary: text, Usage: sub.taskUsage(),
	})
}

// failed reports that a subagent could not do its work.
func (s *session) failed(sub *subagent, err error) {
	s.count(func(st *message.SubagentStats) { st.Failed++ })
	s.tell(sub, message.TaskPatch{Status: message.TaskFailed, Error: err.Error()}, &message.TaskNotification{
		Status: message.TaskFailed, Summary: err.Error(),
	})
}

// killed reports that a subagent was stopped, and returns why.
func (s *session) killed(t *Turn) error {
	cause := context.Cause(t.ctx)
	if s.ctx.Err() != nil {
		return cause
	}
	s.count(func(st *message.SubagentStats) { st.Killed.User++ })
	s.tell(t.sub, message.TaskPatch{Status: "killed"}, &message.TaskNotification{
		Status: message.TaskStopped, Summary: t.sub.Description,
	})
	return cause
}

func (s *session) count(add func(*message.SubagentStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.stats)
}

// tell sends the two messages that end a task.
func (s *session) tell(sub *subagent, patch message.TaskPatch, m *message.TaskNotification) {
	patch.EndTime = time.Now().UnixMilli()
	_ = s.emit(&message.TaskUpdated{TaskID: sub.ID, RunID: sub.run, Patch: patch})
	m.TaskID, m.RunID, m.ToolUseID = sub.ID, sub.run, sub.ToolUseID
	_ = s.emit(m)
}

// endTask takes a subagent off the list of what works in the background.
func (s *session) endTask(sub *subagent) {
	s.mu.Lock()
	s.tasks = slices.DeleteFunc(s.tasks, func(other *subagent) bool { return other == sub })
	s.ending++ // until it is answered, or the answer is no longer wanted
	list := s.taskList()
	s.mu.Unlock()
	_ = s.emit(list)
}

// notify queues the turn that answers the end of a subagent.
func (s *session) notify(sub *subagent, o outcome) {
	text := "<task-notification>\n<task-id>" + sub.ID + "</task-id>\n<tool-use-id>" + sub.ToolUseID + "</tool-use-id>\n" +
		"<status>" + string(o.status) + "</status>\n<summary>Agent \"" + sub.Description + "\": " + string(o.status) + "</summary>\n" +
		"<result>" + o.text + "</result>\n</task-notification>"
	m := message.NewUser(message.Text(text))
	m.IsSynthetic = true
	s.mu.Lock()
	s.ending--
	s.queue = append(s.queue, &queued{User: m, ended: sub})
	s.mu.Unlock()
	s.wakeRunner()
}

// settle reports that the session is idle, if the last of its agents has ended
// without a turn that would answer it.
func (s *session) settle() {
	s.mu.Lock()
	s.ending--
	busy := s.turn != nil || len(s.queue) > 0
	s.mu.Unlock()
	if !busy && !s.working() {
		s.state(message.ActivityIdle)
	}
	s.wakeRunner()
}

// wakeRunner wakes the goroutine that runs turns.
func (s *session) wakeRunner() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// working reports whether an agent is at work in the background, or has ended
// and is not yet answered.
func (s *session) working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.atWork() || slices.ContainsFunc(s.queue, (*queued).isNotification)
}

// atWork is working without what waits to be answered. The caller holds the
// lock.
func (s *session) atWork() bool { return len(s.tasks) > 0 || s.ending > 0 }

// awaitTasks waits until no agent is at work in the background.
func (s *session) awaitTasks() {
	for {
		s.mu.Lock()
		tasks := slices.Clone(s.tasks)
		s.mu.Unlock()
		if len(tasks) == 0 {
			return
		}
		for _, sub := range tasks {
			s.await(sub.done)
		}
		if s.ctx.Err() != nil {
			return
		}
	}
}

// stopTasks ends agents in the background and waits until that was told.
func (s *session) stopTasks(cause error, which func(*subagent) bool) {
	s.mu.Lock()
	tasks := slices.Clone(s.tasks)
	s.mu.Unlock()
	for _, sub := range tasks {
		if which(sub) {
			sub.cancel(cause)
			s.await(sub.done)
		}
	}
}

// stopTask serves stop_task. An unknown id is not an error.
func (s *session) stopTask(_ context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		ID string `json:"task_id"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	s.stopTasks(errStopped, func(sub *subagent) bool { return sub.ID == req.ID })
	return struct{}{}, nil
}

// acknowledge gives the end of a subagent a silent turn of its own. Another
// subagent, which ended after it, is answered in the turn that follows, and there
// the agent learns about both.
func (s *session) acknowledge(q *queued) {
	t := newTurn(s, []*queued{q})
	defer t.cancel(nil)
	s.state(message.ActivityRunning)
	_ = s.emit(s.initMessage(nil))
	r := t.result(nil)
	r.NumTurns, r.TerminalReason, r.StopReason = 0, "", ""
	_ = s.emit(r)
}
