package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// callback is one call of user code on behalf of the CLI.
type callback struct {
	name    string
	timeout time.Duration // 0 or less: none
	run     func(context.Context) (json.RawMessage, error)
	fail    func(error) json.RawMessage // the answer when it fails; nil: an error reply
	decides string                      // the tool use that its answer decides on
	races   string                      // the tool use that somebody else may decide on first
}

// What can become of user code besides an answer.
var (
	errCapacity = errors.New("too many callbacks are running")
	errGoexit   = errors.New("the callback ended its goroutine")
	errNobody   = errors.New("no permission callback is set")
	errUnknown  = errors.New("no hook has this callback id")
)

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("the callback panicked: %v", e.value) }

// callback returns what serves a request, nil for an unknown subtype. It only
// looks at the request; user code runs later.
func (s *Session) callback(in *peer.Incoming) *callback {
	switch in.Subtype {
	case "can_use_tool":
		return s.permissionCallback(in)
	case "hook_callback":
		return s.hookCallback(in)
	case "mcp_message":
		return s.mcp.callback(in)
	case "elicitation":
		return s.elicitationCallback(in)
	case "request_user_dialog":
		return s.dialogCallback(in)
	}
	return s.requestCallback(in)
}

func (s *Session) permissionCallback(in *peer.Incoming) *callback {
	req := &permission.Request{RequestID: in.ID.String()}
	decodeErr := readable(req, req.UnmarshalJSON(in.Body))
	if s.plan.races {
		s.race.ask(req.ToolUseID)
	}
	return &callback{
		name:    req.ToolName,
		decides: req.ToolUseID,
		timeout: s.opts.Timeouts.Callback,
		run: func(ctx context.Context) (json.RawMessage, error) {
			if decodeErr != nil {
				return nil, fmt.Errorf("the request cannot be read: %w", decodeErr)
			}
			if s.opts.CanUseTool == nil {
				return nil, errNobody
			}
			decision, err := s.opts.CanUseTool(ctx, req)
			if err != nil {
				return nil, err
			}
			return decision.Reply(req)
		},
		fail: func(err error) json.RawMessage {
			reply, err := permission.Deny("Permission could not be decided: " + err.Error()).Reply(req)
			if err != nil {
				return json.RawMessage(`{"behavior":"deny","message":"Permission could not be decided."}`)
			}
			return reply
		},
	}
}

// readable refuses a request that names no tool, or an input that is none: a
// callback that allows everything else must not be asked about nothing. It also
// refuses one with a repeated name, also inside the input, because what is
// decided here might not be what is done there.
func readable(req *permission.Request, err error) error {
	switch {
	case err != nil && (req.ToolName == "" || !jsonx.Mismatch(err)):
		return err
	case req.ToolName == "":
		return errors.New("it names no tool")
	case len(req.Input) > 0 && req.Input[0] != '{' && string(req.Input) != "null":
		return errors.New("its input is no object")
	}
	return nil
}

func (s *Session) hookCallback(in *peer.Incoming) *callback {
	var body hookBody
	unread := body.decode(in.Body)
	if unread != nil {
		s.diagnose(in.Body, unread)
	}
	if jsonx.Mismatch(unread) {
		unread = nil // costs a field; what is left can be judged
	}
	h, known := s.plan.hooks[body.CallbackID]
	if !known {
		var input struct {
			Event hook.Event `json:"hook_event_name"`
		}
		_ = jsonx.Unmarshal(body.Input, &input) // an input that says nothing names no event
		h = s.opts.strictest(input.Event)
	}
	timeout := h.Timeout
	if timeout == 0 {
		timeout = s.opts.Timeouts.Callback
	}
	races := ""
	if h.Event == hook.EventPermissionRequest {
		races = body.ToolUseID
	}
	return &callback{
		name:    string(h.Event),
		races:   races,
		timeout: timeout,
		run: func(ctx context.Context) (json.RawMessage, error) {
			switch {
			case unread != nil:
				return nil, fmt.Errorf("the request cannot be read: %w", unread)
			case !known:
				return nil, fmt.Errorf("%w: %q", errUnknown, body.CallbackID)
			}
			out, err := h.Func(ctx, body.Input, body.ToolUseID)
			if err != nil {
				return nil, err
			}
			return hook.Encode(out)
		},
		fail: func(err error) json.RawMessage {
			return h.FailureReply(s.opts.HookFailure, "The "+string(h.Event)+" hook failed: "+err.Error())
		},
	}
}

// hookBody is the body of a hook_callback.
type hookBody struct {
	CallbackID string          `json:"callback_id"`
	Input      json.RawMessage `json:"input"`
	ToolUseID  string          `json:"tool_use_id"`
}

// decode reads a body in one pass, and in the general way if there is anything
// unusual about it.
func (b *hookBody) decode(raw []byte) error {
	var s jsonx.Scanner
	s.Over(raw)
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case "callback_id":
			b.CallbackID = s.Text()
		case "input":
			b.Input = s.Skip()
		case "tool_use_id":
			b.ToolUseID = s.Text()
		default:
			s.Skip()
		}
	}
	if s.End() {
		return nil
	}
	*b = hookBody{}
	return jsonx.Unmarshal(raw, b)
}

// invoke runs a callback and answers with what it says, or by its failure
// policy when it fails, panics, ends its goroutine or takes too long. Whoever
// answers first counts; a callback that is late talks to nobody.
func (s *Session) invoke(ctx context.Context, in *peer.Incoming, cb *callback) {
	t := TraceCallback{Subtype: in.Subtype, Name: cb.name, RequestID: in.ID.String()}
	s.trace.callbackStarted(t)
	begin := time.Now()
	if cb.races != "" {
		defer s.race.enter(cb.races, func() {
			in.End(errDecided)
			in.Reply(json.RawMessage(noOpinion)) // nobody waits for one any more
		})()
	}
	if cb.timeout > 0 {
		defer s.late.done(s.late.add(begin, in, cb))
	}
	var reply json.RawMessage
	err := errGoexit // unless run returns or panics
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic in a callback", "subtype", in.Subtype, "name", cb.name, "panic", v, "stack", string(debug.Stack()))
			err = &panicError{v}
		}
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrTimeout):
			err = cause // whatever it says now, it is too late
		case errors.Is(cause, errDecided):
			reply, err = json.RawMessage(noOpinion), nil
		}
		t.Duration, t.Err = time.Since(begin), err
		s.settle(ctx, in, cb, reply, t)
	}()
	reply, err = cb.run(ctx)
}

// expire answers for a callback whose time is over.
func (s *Session) expire(d *deadline) {
	in, cb := d.in, d.cb
	err := fmt.Errorf("the callback %w after %v", ErrTimeout, cb.timeout)
	in.End(err) // before the write, which may take its time
	if s.failed(in, cb, err) {
		s.log.Warn("callback timed out", "subtype", in.Subtype, "name", cb.name, "request_id", in.ID.String(), "timeout", cb.timeout)
	}
	s.endInput()
}

// settle gives the answer of a callback that has ended.
func (s *Session) settle(ctx context.Context, in *peer.Incoming, cb *callback, reply json.RawMessage, t TraceCallback) {
	answered := false
	if t.Err != nil {
		answered = s.failed(in, cb, t.Err)
		level := slog.LevelWarn
		if ctx.Err() != nil {
			level = slog.LevelDebug // withdrawn, closed, or logged at its timeout
		}
		s.log.Log(ctx, level, "callback failed", "subtype", in.Subtype, "name", cb.name, "request_id", t.RequestID, "error", t.Err)
	} else {
		answered = s.reply(in, cb, reply)
		if s.log.Enabled(ctx, slog.LevelDebug) { // asked first: the arguments would be allocated all the same
			s.log.Debug("callback done", "subtype", in.Subtype, "name", cb.name, "request_id", t.RequestID, "duration", t.Duration)
		}
	}
	if !answered {
		s.log.Debug("answer of a callback came too late", "request_id", t.RequestID)
	}
	s.trace.callbackDone(t)
}

// reply gives the answer of a callback and reports whether it was the first.
func (s *Session) reply(in *peer.Incoming, cb *callback, payload json.RawMessage) bool {
	if !in.Reply(payload) {
		return false
	}
	if cb.decides != "" && s.plan.races {
		s.race.decide(cb.decides)
	}
	return true
}

// failed answers for a callback that has no answer of its own.
func (s *Session) failed(in *peer.Incoming, cb *callback, err error) bool {
	if cb.fail == nil {
		return in.Fail(&wire.ReplyError{Message: err.Error()})
	}
	return s.reply(in, cb, cb.fail(err))
}
