package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// callback is one call of user code on behalf of the CLI.
type callback struct {
	name    string
	timeout time.Duration // 0 or less: none
	decides string        // the tool use that its answer decides on
	races   string        // the tool use that somebody else may decide on first
	deadline
	caller
}

// caller calls the user's code.
type caller interface {
	run(context.Context) (json.RawMessage, error)
	// fail is the answer when that fails; nil: an error reply.
	fail(error) json.RawMessage
}

// call is a caller made of functions. Without failed there is an error reply.
type call struct {
	do     func(context.Context) (json.RawMessage, error)
	failed func(error) json.RawMessage
}

func (c *call) run(ctx context.Context) (json.RawMessage, error) { return c.do(ctx) }

func (c *call) fail(err error) json.RawMessage {
	if c.failed == nil {
		return nil
	}
	return c.failed(err)
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
		s.late.add(begin, in, cb)
		defer s.late.done(cb)
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
		t.Err = err
		if s.trace != nil || s.log.Enabled(ctx, slog.LevelDebug) { // the clock costs, too
			t.Duration = time.Since(begin)
		}
		s.settle(ctx, in, cb, reply, t)
	}()
	reply, err = cb.run(ctx)
}

// expire answers for a callback whose time is over.
func (s *Session) expire(cb *callback) {
	in := cb.in
	err := fmt.Errorf("the callback %w after %v", ErrTimeout, cb.timeout)
	late := in.Pending()
	in.End(err) // before the write, which may take its time
	if late {   // whoever answers now: the callback itself may, when its context ends
		s.log.Warn("callback timed out", "subtype", in.Subtype, "name", cb.name, "request_id", in.ID.String(), "timeout", cb.timeout)
	}
	s.failed(in, cb, err)
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
	if cb.decides == "" || !s.plan.races {
		return in.Reply(payload)
	}
	// Noted before the reply: right after it the CLI may ask once more, and then
	// the call is undecided again.
	overtaken := s.race.decide(cb.decides)
	if !in.Reply(payload) {
		s.race.ask(cb.decides) // withdrawn: nothing was decided
		return false
	}
	for _, h := range overtaken {
		h.overtaken()
	}
	return true
}

// failed answers for a callback that has no answer of its own.
func (s *Session) failed(in *peer.Incoming, cb *callback, err error) bool {
	answer := cb.fail(err)
	if answer == nil {
		return in.Fail(&wire.ReplyError{Message: err.Error()})
	}
	return s.reply(in, cb, answer)
}
