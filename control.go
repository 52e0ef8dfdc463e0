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

// Interrupt stops the turn that runs, as Escape does at the keyboard. The turn
// ends with an error result; prompts that wait behind it stay queued and are
// named in the receipt. With no turn running it does nothing.
func (s *Session) Interrupt(ctx context.Context) (*control.Interrupted, error) {
	receipt := new(control.Interrupted)
	return receipt, s.operate(ctx, "interrupt", nil, s.opts.Timeouts.Control, receipt)
}

// SetModel changes the model from the next turn on. An empty name resets it.
// The CLI does not check the name.
func (s *Session) SetModel(ctx context.Context, model string) error {
	var name *string
	if model != "" {
		name = &model
	}
	payload := struct {
		Model *string `json:"model"`
	}{name}
	return s.operate(ctx, "set_model", payload, s.opts.Timeouts.Control, nil)
}

// SetPermissionMode changes the permission mode. A question that is already
// asked is not answered by it.
func (s *Session) SetPermissionMode(ctx context.Context, mode permission.Mode) error {
	payload := struct {
		Mode permission.Mode `json:"mode"`
	}{mode}
	return s.operate(ctx, "set_permission_mode", payload, s.opts.Timeouts.Control, nil)
}

// RewindFiles brings the files that Claude changed back to what they were when
// the prompt with this id was sent; [Session.Send] returns the id. Changes by
// shell commands are not covered. It needs Options.FileCheckpointing.
func (s *Session) RewindFiles(ctx context.Context, messageID string) (*control.Rewind, error) {
	return s.rewind(ctx, messageID, false)
}

// Control performs any control operation: subtype as on the wire, payload an
// object without it or nil, reply a pointer to decode the answer into or nil.
// Both follow the rules of encoding/json. An answer that does not fit reply is
// an error, although the CLI has done what it was asked; an answer without a
// payload leaves reply as it is.
//
// ctx alone bounds it; a CLI that does not know the operation may never answer.
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
