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
	"github.com/claude-agent-go/claude/permission"
)

// MCP returns the MCP servers of the session: their state, and what can be changed while it
// runs. Its methods may be called from any goroutine, until the session ends.
func (s *Session) MCP() SessionMCP { return SessionMCP{s} }

// Tasks returns the background tasks of the session. Its methods may be called from any
// goroutine, until the session ends.
func (s *Session) Tasks() SessionTasks { return SessionTasks{s} }

// Files returns the files that the session works with, as its CLI sees them: it may run on
// another machine. Its methods may be called from any goroutine, until the session ends.
func (s *Session) Files() SessionFiles { return SessionFiles{s} }

// Settings returns the settings of the session, and the rules, hooks, plugins and skills
// that they load. Its methods may be called from any goroutine, until the session ends.
func (s *Session) Settings() SessionSettings { return SessionSettings{s} }

// Interrupt stops the running turn, like Escape at the keyboard. The turn ends
// with an error result. Prompts waiting behind it stay queued, and the receipt
// names them. If a prompt was sent but its turn has yet to begin, that turn
// ends as soon as it begins, even if the receipt names the prompt. With no
// prompt to answer, Interrupt does nothing.
func (s *Session) Interrupt(ctx context.Context) (*control.Interrupted, error) {
	receipt := new(control.Interrupted)
	return receipt, s.operate(ctx, "interrupt", nil, s.opts.Timeouts.Control, receipt)
}

// Control performs any control operation. subtype is its name on the wire;
// payload is an object without the subtype, or nil; reply is a pointer to
// decode the answer into, or nil. Both follow the rules of encoding/json. An
// answer that does not fit reply is an error, although the CLI has performed
// the operation; an answer without a payload leaves reply unchanged.
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
	if err := s.cli.checkOperation(ctx, op); err != nil {
		return s.unsent(ctx, op, err)
	}
	return s.perform(ctx, op, payload, timeout, reply)
}

// perform sends a control request and decodes its reply. Any success counts,
// with or without a payload.
func (s *Session) perform(ctx context.Context, op string, payload any, timeout time.Duration, reply any) error {
	s.trace.begin()
	begin := time.Now()
	response, err := s.peer.Call(ctx, peer.Call{Subtype: op, Payload: payload, Timeout: max(timeout, 0)})
	t := TraceRequest{Context: ctx, Op: op, RequestID: response.ID.String(), Duration: time.Since(begin)}
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

// unsent reports an operation that failed before any of it was sent, and
// returns its error.
func (s *Session) unsent(ctx context.Context, op string, err error) error {
	s.trace.begin()
	s.operationFailed(ctx, TraceRequest{Context: ctx, Op: op, Err: err})
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

// interruptQuietly interrupts on behalf of a loop that has ended.
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

// ContextUsage returns a breakdown of the context window.
func (s *Session) ContextUsage(ctx context.Context) (*control.ContextUsage, error) {
	usage := new(control.ContextUsage)
	return usage, s.operate(ctx, "get_context_usage", nil, s.opts.Timeouts.MCP, usage)
}

// Usage returns the cost of the session so far and how much of the account's
// limits is used. It includes side questions and titles, which no result
// counts. It also includes the cost of a cancelled turn, as far as the CLI
// counts it: the complete answers.
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

// SetThinking changes how the model thinks from the next turn on: within a
// Budget of tokens, not at all with ThinkingDisabled, and otherwise as the CLI
// decides. An empty Display leaves the display unchanged.
func (s *Session) SetThinking(ctx context.Context, t Thinking) error {
	payload := struct {
		Tokens  *int            `json:"max_thinking_tokens"`
		Display ThinkingDisplay `json:"thinking_display,omitzero"`
	}{Display: t.Display}
	switch {
	case t.Mode == ThinkingDisabled:
		payload.Tokens = new(0)
	case t.Budget > 0:
		payload.Tokens = &t.Budget
	}
	return s.operate(ctx, "set_max_thinking_tokens", payload, s.opts.Timeouts.Control, nil)
}

// Commands returns the slash commands from the handshake, or as the CLI has
// changed them since.
func (s *Session) Commands() []control.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.conversation.commands != nil:
		return s.conversation.commands
	case s.start.info != nil:
		return s.start.info.Commands
	}
	return nil
}

// SetModel changes the model from the next turn on. An empty name resets it. The
// CLI takes any name, so a near miss of a name that the CLI lists, such as
// "sonet", is refused here with an [*OptionError].
func (s *Session) SetModel(ctx context.Context, model string) error {
	if problem := modelProblem(model, s.Info().Models); problem != "" {
		return &OptionError{"Model", problem}
	}
	var name *string
	if model != "" {
		name = &model
	}
	payload := struct {
		Model *string `json:"model"`
	}{name}
	return s.operate(ctx, "set_model", payload, s.opts.Timeouts.Control, nil)
}

// SetPermissionMode changes the permission mode. It does not answer a
// permission question that was already asked. An unknown mode is an [*OptionError].
func (s *Session) SetPermissionMode(ctx context.Context, mode permission.Mode) error {
	if err := mode.Check(); err != nil {
		return &OptionError{"PermissionMode", err.Error()}
	}
	payload := struct {
		Mode permission.Mode `json:"mode"`
	}{mode}
	return s.operate(ctx, "set_permission_mode", payload, s.opts.Timeouts.Control, nil)
}
