package claude

import (
	"context"

	"github.com/claude-agent-go/claude/control"
)

// SessionTasks are the background tasks of a session, see [Session.Tasks].
type SessionTasks struct{ s *Session }

// Stop ends a background task, by the id in *message.TaskStarted. An
// unknown id is not an error.
func (t SessionTasks) Stop(ctx context.Context, taskID string) error {
	payload := struct {
		ID string `json:"task_id"`
	}{taskID}
	return t.s.operate(ctx, "stop_task", payload, t.s.opts.Timeouts.Control, nil)
}

// Background moves a tool running in the foreground to the background, by
// the id of its call, so that the turn continues without it. It reports whether
// the CLI claims to have moved the tool. A shell command can be moved once
// *message.TaskStarted reports it, seconds after it began.
func (t SessionTasks) Background(ctx context.Context, toolUseID string) (moved bool, err error) {
	const op = "background_tasks"
	if toolUseID == "" { // to the CLI it would mean all of them
		return false, t.s.unsent(ctx, op, &ControlError{Op: op, Message: "the id of the tool call is empty"})
	}
	payload := struct {
		ID string `json:"tool_use_id"`
	}{toolUseID}
	var reply struct {
		Backgrounded bool `json:"backgrounded"`
	}
	err = t.s.operate(ctx, op, payload, t.s.opts.Timeouts.Control, &reply)
	return reply.Backgrounded, err
}

// BackgroundAll moves all tools running in the foreground to the background.
// The CLI does not report whether there were any; *message.BackgroundTasks
// lists what runs there.
func (t SessionTasks) BackgroundAll(ctx context.Context) error {
	return t.s.operate(ctx, "background_tasks", nil, t.s.opts.Timeouts.Control, nil)
}

// Output returns the end of a background task's output.
func (t SessionTasks) Output(ctx context.Context, taskID string) (*control.TaskOutput, error) {
	payload := struct {
		ID string `json:"task_id"`
	}{taskID}
	output := new(control.TaskOutput)
	return output, t.s.operate(ctx, "get_task_output", payload, t.s.opts.Timeouts.Control, output)
}
