package claude

import (
	"context"

	"github.com/claude-agent-go/claude/control"
)

// ContextUsage returns what fills the context window.
func (s *Session) ContextUsage(ctx context.Context) (*control.ContextUsage, error) {
	usage := new(control.ContextUsage)
	return usage, s.operate(ctx, "get_context_usage", nil, s.opts.Timeouts.MCP, usage)
}

// Usage returns what the session has cost so far and how much of the account's
// limits is used, side questions and titles included, which no result counts.
// It also has what a cancelled turn has cost, as far as the CLI counts it: the
// answers that were complete.
func (s *Session) Usage(ctx context.Context) (*control.Usage, error) {
	usage := new(control.Usage)
	return usage, s.operate(ctx, "get_usage", nil, s.opts.Timeouts.MCP, usage)
}

// Cost returns the CLI's own summary of the costs, as text for people.
func (s *Session) Cost(ctx context.Context) (*control.SessionCost, error) {
	cost := new(control.SessionCost)
	return cost, s.operate(ctx, "get_session_cost", nil, s.opts.Timeouts.Control, cost)
}

// Models returns the models that can be chosen now. Info has those of the
// start.
func (s *Session) Models(ctx context.Context) ([]control.Model, error) {
	var reply struct {
		Models []control.Model `json:"models"`
	}
	err := s.operate(ctx, "list_models", nil, s.opts.Timeouts.Control, &reply)
	return reply.Models, err
}

// BinaryVersion returns the version of the CLI's program file, which may be
// newer than the one that runs.
func (s *Session) BinaryVersion(ctx context.Context) (*control.BinaryVersion, error) {
	version := new(control.BinaryVersion)
	return version, s.operate(ctx, "get_binary_version", nil, s.opts.Timeouts.Control, version)
}

// StopTask ends a background task, by the id that *message.TaskStarted has. An
// id that is not known is no error.
func (s *Session) StopTask(ctx context.Context, taskID string) error {
	payload := struct {
		ID string `json:"task_id"`
	}{taskID}
	return s.operate(ctx, "stop_task", payload, s.opts.Timeouts.Control, nil)
}

// BackgroundTask moves a tool that runs in the foreground to the background, by
// the id of its call, so that the turn goes on without it. It reports whether
// the CLI says that it has; a shell command can be moved once
// *message.TaskStarted tells of it, seconds after its begin.
func (s *Session) BackgroundTask(ctx context.Context, toolUseID string) (moved bool, err error) {
	const op = "background_tasks"
	if toolUseID == "" { // to the CLI it would mean all of them
		return false, s.unsent(ctx, op, &ControlError{Op: op, Message: "the id of the tool call is empty"})
	}
	payload := struct {
		ID string `json:"tool_use_id"`
	}{toolUseID}
	var reply struct {
		Backgrounded bool `json:"backgrounded"`
	}
	err = s.operate(ctx, op, payload, s.opts.Timeouts.Control, &reply)
	return reply.Backgrounded, err
}

// BackgroundTasks moves all tools that run in the foreground to the
// background. The CLI does not say whether there were any;
// *message.BackgroundTasks tells what runs there.
func (s *Session) BackgroundTasks(ctx context.Context) error {
	return s.operate(ctx, "background_tasks", nil, s.opts.Timeouts.Control, nil)
}

// ReadTaskOutput returns the end of what a background task has written.
func (s *Session) ReadTaskOutput(ctx context.Context, taskID string) (*control.TaskOutput, error) {
	payload := struct {
		ID string `json:"task_id"`
	}{taskID}
	output := new(control.TaskOutput)
	return output, s.operate(ctx, "get_task_output", payload, s.opts.Timeouts.Control, output)
}
