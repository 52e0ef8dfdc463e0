package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// callback is one call of user code on behalf of the CLI.
type callback struct {
	call    userCall
	name    string
	timeout time.Duration // none if 0 or negative
	decides string        // the tool use that its answer decides on
	races   string        // the tool use that another hook or the permission callback may decide first
	toolUse string        // the tool use it belongs to
	chained bool          // the hooks it asks are reported one by one
	deadline
}

// userCall is the user's code behind a callback.
type userCall interface {
	// run calls the user's function and returns the payload of the reply.
	run(context.Context) (json.RawMessage, error)
	// fail returns the payload of the reply when run has failed, nil for an
	// error reply.
	fail(error) json.RawMessage
}

// runFunc is a userCall that is answered with an error when it fails.
type runFunc func(context.Context) (json.RawMessage, error)

func (f runFunc) run(ctx context.Context) (json.RawMessage, error) { return f(ctx) }
func (runFunc) fail(error) json.RawMessage                         { return nil }

// Ways in which user code ends without an answer.
var (
	errCapacity = errors.New("too many callbacks are running")
	errGoexit   = errors.New("the callback ended its goroutine")
	errNobody   = errors.New("no permission callback is set")
	errUnknown  = errors.New("no hook has this callback id")
)

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("the callback panicked: %v", e.value) }

// callback returns the callback that serves a request, nil for an unknown
// subtype. It only looks at the request; user code runs later.
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

// invoke runs a callback and sends its answer. If the callback fails, panics,
// ends its goroutine or takes too long, its failure policy answers instead. The
// first answer counts; an answer that comes later is dropped.
func (s *Session) invoke(ctx context.Context, in *peer.Incoming, cb *callback) {
	t := TraceCallback{Subtype: in.Subtype, Name: cb.name, RequestID: in.ID.String(), ToolUseID: cb.toolUse}
	if !cb.chained {
		s.trace.callbackStarted(t)
		ctx = s.trace.context(ctx, t)
	}
	begin := time.Now()
	if cb.races != "" {
		defer s.running.race.enter(cb.races, func() {
			in.CancelContext(errDecided)
			in.Reply(json.RawMessage(noOpinion)) // the CLI awaits no opinion any more
		})()
	}
	if cb.timeout > 0 {
		s.running.deadlines.add(begin, in, cb)
		defer s.running.deadlines.done(cb)
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
			err = cause // whatever it returned, it came too late
		case errors.Is(cause, errDecided):
			reply, err = json.RawMessage(noOpinion), nil
		}
		t.Err = err
		if s.trace != nil || s.log.Enabled(ctx, slog.LevelDebug) { // the clock also costs
			t.Duration = time.Since(begin)
		}
		s.settle(ctx, in, cb, reply, t)
	}()
	reply, err = cb.call.run(ctx)
}

// expire answers for a callback that has run out of time.
func (s *Session) expire(cb *callback) {
	in := cb.in
	err := fmt.Errorf("the callback %w after %v", ErrTimeout, cb.timeout)
	late := in.Pending()
	in.CancelContext(err) // before the write, which may take its time
	if late {             // even if the callback itself answers first, when its context ends
		s.log.Warn("callback timed out", "subtype", in.Subtype, "name", cb.name, "request_id", in.ID.String(), "timeout", cb.timeout)
	}
	s.failed(in, cb, err)
}

// settle sends the answer of a callback that has ended.
func (s *Session) settle(ctx context.Context, in *peer.Incoming, cb *callback, reply json.RawMessage, t TraceCallback) {
	answered := false
	if t.Err == nil {
		t.Reply = reply
	}
	if cb.chained && t.Err != nil {
		s.trace.callbackStarted(t) // of the whole
	}
	if !cb.chained || t.Err != nil {
		s.trace.callbackDone(t) // first: an answer may be the end of the session
	}
	if t.Err != nil {
		answered = s.failed(in, cb, t.Err)
		level := slog.LevelWarn
		if ctx.Err() != nil {
			level = slog.LevelDebug // withdrawn, closed, or logged at its timeout
		}
		s.log.Log(ctx, level, "callback failed", "subtype", in.Subtype, "name", cb.name, "request_id", t.RequestID, "error", t.Err)
	} else {
		answered = s.reply(in, cb, reply)
		if s.log.Enabled(ctx, slog.LevelDebug) { // asked first: the arguments would be allocated anyway
			s.log.Debug("callback done", "subtype", in.Subtype, "name", cb.name, "request_id", t.RequestID, "duration", t.Duration)
		}
	}
	if !answered {
		s.log.Debug("answer of a callback came too late", "request_id", t.RequestID)
	}
}

// reply sends the answer of a callback and reports whether it was the first.
func (s *Session) reply(in *peer.Incoming, cb *callback, payload json.RawMessage) bool {
	if cb.decides == "" || !s.plan.races {
		return in.Reply(payload)
	}
	// Recorded before the reply: right after it the CLI may ask once more, which
	// makes the call undecided again.
	overtaken := s.running.race.decide(cb.decides)
	if !in.Reply(payload) {
		s.running.race.ask(cb.decides) // withdrawn: nothing was decided
		return false
	}
	for _, h := range overtaken {
		h.overtaken()
	}
	return true
}

// failed answers for a callback that has no answer of its own.
func (s *Session) failed(in *peer.Incoming, cb *callback, err error) bool {
	if answer := cb.call.fail(err); answer != nil {
		return s.reply(in, cb, answer)
	}
	return in.Fail(&wire.ReplyError{Message: err.Error()})
}

// lacks reports whether a request failed because a field is missing. Such a
// request is refused with an error reply that names the field. The CLI then
// denies the tool, or applies the failure policy that the hook was registered
// with.
func lacks(err error) bool {
	_, missing := errors.AsType[*wire.MissingError](err)
	return missing
}

// unreadable is the error of a request that cannot be served.
func unreadable(err error) error {
	if missing, ok := errors.AsType[*wire.MissingError](err); ok {
		return missing
	}
	return fmt.Errorf("the request cannot be read: %w", err)
}

// RequestFunc answers a control request from the CLI that this package does
// not know. The request is the object as received, with its subtype; the reply
// is any value that encodes as a JSON object, or nil. An error is sent to the
// CLI as the refusal of the request. ctx ends like that of other callbacks.
type RequestFunc func(ctx context.Context, request json.RawMessage) (reply any, err error)

// requestCallback serves a request that Options.Requests knows, nil for others.
func (s *Session) requestCallback(in *peer.Incoming) *callback {
	f, known := s.opts.Requests[in.Subtype]
	if !known {
		return nil
	}
	return &callback{
		name:    in.Subtype,
		timeout: s.opts.Timeouts.callback(),
		call: runFunc(func(ctx context.Context) (json.RawMessage, error) {
			reply, err := f(ctx, json.RawMessage(in.Body))
			if err != nil || reply == nil {
				return nil, err
			}
			return jsonx.MarshalUser(reply)
		}),
	}
}

// deadlines ends callbacks that take too long. One timer serves the whole
// session and keeps running when a callback is done: most callbacks return at
// once and share the same limit, so the timer fires about once per limit.
// Setting and stopping one for each callback would wake other threads; with a
// context.WithTimeoutCause each, a hook takes a quarter more time.
type deadlines struct {
	expire func(*callback) // called in a goroutine of its own

	mu    sync.Mutex
	first *callback // of those that are watched
	timer *time.Timer
	at    time.Time // when the timer fires; zero if it is not set
	over  bool
}

// deadline is when a callback must be done. It belongs to deadlines.
type deadline struct {
	at         time.Time
	in         *peer.Incoming
	watched    bool
	prev, next *callback
}

// add begins to watch a callback.
func (d *deadlines) add(begin time.Time, in *peer.Incoming, cb *callback) {
	d.mu.Lock()
	defer d.mu.Unlock()
	cb.deadline = deadline{at: begin.Add(cb.timeout), in: in, watched: true, next: d.first}
	if d.first != nil {
		d.first.prev = cb
	}
	d.first = cb
	if d.at.IsZero() || cb.at.Before(d.at) {
		d.set(cb.at)
	}
}

// done ends the watch over a callback that has returned.
func (d *deadlines) done(cb *callback) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(cb)
}

// forget ends the watch over a callback. The caller holds the lock.
func (d *deadlines) forget(cb *callback) {
	if !cb.watched {
		return
	}
	cb.watched = false
	if cb.prev == nil {
		d.first = cb.next
	} else {
		cb.prev.next = cb.next
	}
	if cb.next != nil {
		cb.next.prev = cb.prev
	}
	cb.prev, cb.next = nil, nil // so that one that never returns keeps no other alive
}

// set sets the timer; no other code reads the clock. The caller holds the lock.
func (d *deadlines) set(at time.Time) {
	d.at = at
	switch {
	case d.over:
	case d.timer == nil:
		d.timer = time.AfterFunc(time.Until(at), d.fire)
	default:
		d.timer.Reset(time.Until(at))
	}
}

// fire expires the callbacks that are due and sets the timer for the next one.
func (d *deadlines) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	var next time.Time
	for cb, after := d.first, (*callback)(nil); cb != nil; cb = after {
		after = cb.next
		switch {
		case !cb.at.After(now):
			d.forget(cb)
			go d.expire(cb)
		case next.IsZero() || cb.at.Before(next):
			next = cb.at
		}
	}
	d.at = next
	if !next.IsZero() {
		d.set(next)
	}
}

// stop ends the watch. Callbacks end with their session.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.timer != nil {
		d.timer.Stop()
	}
}

// Accept sees the CLI's requests as they arrive. Some requests only come from a
// CLI that has taken our handshake, and confirm it; ordinary messages never do.
func (d dispatcher) Accept(req wire.Request) (aside bool) {
	d.noteActivity()
	if d.store.mirror != nil {
		d.store.mirror.Hurry() // what it asks about, and may do next, is on its way to the store
	}
	switch req.Subtype {
	case "mcp_message":
		d.mcp.accept(req)
		if d.plan.resumes {
			return false // the servers were on the command line, too
		}
	case "hook_callback":
		aside = d.running.roll.accept(d.plan.chain, req)
	case "can_use_tool":
	default:
		return false
	}
	d.mu.Lock()
	first := d.life.state < StateRunning && !d.start.confirmed
	d.start.confirmed = d.start.confirmed || first
	d.mu.Unlock()
	if first {
		d.log.Debug("handshake confirmed by a request", "subtype", req.Subtype)
		d.inbox.Ready()
		d.setState(StateRunning)
		d.peer.Open()
	}
	return aside
}

// settled is called when a request of the CLI awaits nothing more.
func (s *Session) settled() {
	s.noteActivity()
	s.endInput()
}

// Request answers a request of the CLI outside the reader's goroutine.
func (d dispatcher) Request(ctx context.Context, in *peer.Incoming) {
	if cb := d.callback(in); cb != nil {
		d.invoke(ctx, in, cb)
		return
	}
	d.log.Warn("request of an unknown kind refused", "subtype", in.Subtype, "request_id", in.ID.String())
	in.Fail(&wire.ReplyError{
		Message: "Unsupported control request subtype: " + in.Subtype,
		Code:    "unsupported_request",
	})
}

// Refuse answers a request for which there is no room, as if its callback had
// failed.
func (d dispatcher) Refuse(in *peer.Incoming) {
	if cb := d.callback(in); cb != nil {
		d.failed(in, cb, errCapacity)
	}
}
