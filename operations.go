package claude

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/schema"
)

// Interrupt stops the running turn, like Escape at the keyboard. The turn ends
// with an error result. Prompts waiting behind it stay queued and are named in
// the receipt. If no turn is running, it does nothing.
func (s *Session) Interrupt(ctx context.Context) (*control.Interrupted, error) {
	receipt := new(control.Interrupted)
	return receipt, s.operate(ctx, "interrupt", nil, s.opts.Timeouts.Control, receipt)
}

// Control performs any control operation. subtype is its name on the wire;
// payload is an object without the subtype, or nil; reply is a pointer to
// decode the answer into, or nil. Both follow the rules of encoding/json. An
// answer that does not fit reply is an error, although the CLI has done what
// it was asked; an answer without a payload leaves reply unchanged.
//
// Only ctx bounds the wait; a CLI that does not know the operation may never
// answer.
func (s *Session) Control(ctx context.Context, subtype string, payload, reply any) error {
	object, err := jsonx.MarshalUser(payload)
	if err != nil {
		return s.unsent(ctx, subtype, &ControlError{Op: subtype, Err: err})
	}
	var sent any
	if string(object) != "null" {
		sent = object
	}
	var answer json.RawMessage
	if err := s.perform(ctx, subtype, sent, NoTimeout, &answer); err != nil {
		return err
	}
	if reply == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, reply); err != nil {
		return &ControlError{Op: subtype, Message: "the reply does not fit", Err: schema.Explain(err)}
	}
	return nil
}

// operate performs an operation that the CLI knows.
func (s *Session) operate(ctx context.Context, op string, payload any, timeout time.Duration, reply any) error {
	if err := s.checkOperation(ctx, op); err != nil {
		return s.unsent(ctx, op, err)
	}
	return s.perform(ctx, op, payload, timeout, reply)
}

// perform sends a control request and decodes its reply. Any success is one,
// with or without a payload.
func (s *Session) perform(ctx context.Context, op string, payload any, timeout time.Duration, reply any) error {
	s.trace.begin()
	begin := time.Now()
	response, err := s.peer.Call(ctx, peer.Call{Subtype: op, Payload: payload, Timeout: max(timeout, 0)})
	t := TraceRequest{Op: op, RequestID: response.ID.String(), Duration: time.Since(begin)}
	if err != nil {
		failed := controlError(op, response.ID.String(), s.broken(ctx, err))
		t.RequestID, t.Err = failed.RequestID, failed
		s.operationFailed(ctx, t)
		return failed
	}
	s.trace.requestDone(t)
	if reply != nil && len(response.Payload) > 0 {
		if err := jsonx.Unmarshal(response.Payload, reply); err != nil {
			s.log.Warn("the reply has another shape", "op", op, "error", err)
		}
	}
	return nil
}

// unsent reports an operation that failed before anything of it was sent, and
// returns its error.
func (s *Session) unsent(ctx context.Context, op string, err error) error {
	s.trace.begin()
	s.operationFailed(ctx, TraceRequest{Op: op, Err: err})
	return err
}

// operationFailed reports a failed operation to the log and to the trace.
func (s *Session) operationFailed(ctx context.Context, t TraceRequest) {
	level := slog.LevelError
	if ctx.Err() != nil || errors.Is(t.Err, ErrClosed) {
		level = slog.LevelDebug // the caller's own doing
	}
	s.log.Log(ctx, level, "control operation failed", "op", t.Op, "error", t.Err)
	s.trace.requestDone(t)
}

// controlError turns an error of the engine into one for the user.
func controlError(op, id string, err error) *ControlError {
	e := &ControlError{Op: op, RequestID: id, Err: rename(err)}
	if refused, ok := errors.AsType[*peer.RefusedError](err); ok {
		e.Code, e.Message, e.Err = refused.Reply.Code, refused.Reply.Message, nil
		return e
	}
	if timeout, ok := errors.AsType[*peer.TimeoutError](err); ok {
		e.Err = ErrTimeout
		e.Message = "no reply within " + timeout.After.String()
	}
	return e
}

// interruptQuietly interrupts on behalf of a loop that is gone.
func (s *Session) interruptQuietly() {
	_ = s.operate(context.Background(), "interrupt", nil, s.opts.Timeouts.Control, nil) // logged there
}

// InterruptAll stops the running turn, as Interrupt does, and withdraws all
// prompts waiting behind it; the receipt names them.
func (s *Session) InterruptAll(ctx context.Context) (*control.Interrupted, error) {
	payload := struct {
		CancelQueued bool `json:"cancel_queued"`
	}{true}
	receipt := new(control.Interrupted)
	return receipt, s.operate(ctx, "interrupt", payload, s.opts.Timeouts.Control, receipt)
}

// CancelPrompt withdraws a prompt that is waiting for its turn, by the id that
// Send returned. It reports false if the prompt has already begun or is not
// known.
func (s *Session) CancelPrompt(ctx context.Context, messageID string) (cancelled bool, err error) {
	payload := struct {
		ID string `json:"message_uuid"`
	}{messageID}
	var reply struct {
		Cancelled bool `json:"cancelled"`
	}
	err = s.operate(ctx, "cancel_async_message", payload, s.opts.Timeouts.Control, &reply)
	return reply.Cancelled, err
}

// AskSideQuestion asks a question about the conversation without adding to it.
// A running turn continues. The model is called, so only ctx bounds the wait.
func (s *Session) AskSideQuestion(ctx context.Context, question string) (*control.SideAnswer, error) {
	payload := struct {
		Question string `json:"question"`
	}{question}
	answer := new(control.SideAnswer)
	return answer, s.operate(ctx, "side_question", payload, NoTimeout, answer)
}

// Rename changes the title of the session.
func (s *Session) Rename(ctx context.Context, title string) error {
	payload := struct {
		Title  string `json:"title"`
		Source string `json:"source"`
	}{title, "host"}
	return s.operate(ctx, "rename_session", payload, s.opts.Timeouts.Control, nil)
}

// GenerateTitle asks the model for a title that fits description, and makes it
// the session's title if persist is set. The title is empty if the model gave
// none. Only ctx bounds the wait.
func (s *Session) GenerateTitle(ctx context.Context, description string, persist bool) (title string, err error) {
	payload := struct {
		Description string `json:"description"`
		Persist     bool   `json:"persist"`
	}{description, persist}
	var reply struct {
		Title string `json:"title"`
	}
	err = s.operate(ctx, "generate_session_title", payload, NoTimeout, &reply)
	return reply.Title, err
}

// End asks the CLI to end the session by itself. When End returns, the CLI has
// agreed; Done reports when the session is over. Close is more reliable, and
// you still need to call it.
func (s *Session) End(ctx context.Context, reason string) error {
	payload := struct {
		Reason string `json:"reason,omitzero"`
	}{reason}
	return s.operate(ctx, "end_session", payload, s.opts.Timeouts.Control, nil)
}

// ContextUsage returns what fills the context window.
func (s *Session) ContextUsage(ctx context.Context) (*control.ContextUsage, error) {
	usage := new(control.ContextUsage)
	return usage, s.operate(ctx, "get_context_usage", nil, s.opts.Timeouts.MCP, usage)
}

// Usage returns what the session has cost so far and how much of the account's
// limits is used. It includes side questions and titles, which no result
// counts. It also includes what a cancelled turn has cost, as far as the CLI
// counts it: the answers that were complete.
func (s *Session) Usage(ctx context.Context) (*control.UsageReport, error) {
	usage := new(control.UsageReport)
	return usage, s.operate(ctx, "get_usage", nil, s.opts.Timeouts.MCP, usage)
}

// Cost returns the CLI's own summary of the costs, as text for people.
func (s *Session) Cost(ctx context.Context) (*control.SessionCost, error) {
	cost := new(control.SessionCost)
	return cost, s.operate(ctx, "get_session_cost", nil, s.opts.Timeouts.Control, cost)
}

// Models returns the models you can choose now. Info has those known at the
// start.
func (s *Session) Models(ctx context.Context) ([]control.ModelInfo, error) {
	var reply struct {
		Models []control.ModelInfo `json:"models"`
	}
	err := s.operate(ctx, "list_models", nil, s.opts.Timeouts.Control, &reply)
	return reply.Models, err
}

// BinaryVersion returns the version of the CLI's program file, which may be
// newer than the running one.
func (s *Session) BinaryVersion(ctx context.Context) (*control.BinaryVersion, error) {
	version := new(control.BinaryVersion)
	return version, s.operate(ctx, "get_binary_version", nil, s.opts.Timeouts.Control, version)
}

// StopTask ends a background task, by the id in *message.TaskStarted. An
// unknown id is not an error.
func (s *Session) StopTask(ctx context.Context, taskID string) error {
	payload := struct {
		ID string `json:"task_id"`
	}{taskID}
	return s.operate(ctx, "stop_task", payload, s.opts.Timeouts.Control, nil)
}

// BackgroundTask moves a tool running in the foreground to the background, by
// the id of its call, so that the turn continues without it. It reports
// whether the CLI says it has moved the tool. A shell command can be moved
// once *message.TaskStarted reports it, seconds after it began.
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

// BackgroundTasks moves all tools running in the foreground to the background.
// The CLI does not say whether there were any; *message.BackgroundTasks lists
// what runs there.
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
