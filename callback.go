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
func (r *callbacks) callback(in *peer.Incoming) *callback {
	switch in.Subtype {
	case "can_use_tool":
		return r.permissionCallback(in)
	case "hook_callback":
		return r.hookCallback(in)
	case "mcp_message":
		return r.mcp.callback(in)
	case "elicitation":
		return r.elicitationCallback(in)
	case "request_user_dialog":
		return r.dialogCallback(in)
	}
	return r.requestCallback(in)
}

// invoke runs a callback and sends its answer. If the callback fails, panics,
// ends its goroutine or takes too long, its failure policy answers instead. The
// first answer counts; an answer that comes later is dropped.
func (r *callbacks) invoke(ctx context.Context, in *peer.Incoming, cb *callback) {
	t := TraceCallback{Subtype: in.Subtype, Name: cb.name, RequestID: in.ID.String(), ToolUseID: cb.toolUse}
	if !cb.chained {
		r.trace.callbackStarted(t)
		ctx = r.trace.context(ctx, t)
	}
	begin := time.Now()
	if cb.races != "" {
		defer r.race.enter(cb.races, func() {
			in.CancelContext(errDecided)
			in.Reply(json.RawMessage(noOpinion)) // the CLI no longer awaits an opinion
		})()
	}
	if cb.timeout > 0 {
		r.deadlines.add(begin, in, cb)
		defer r.deadlines.done(cb)
	}
	var reply json.RawMessage
	err := errGoexit // unless run returns or panics
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("panic in a callback", "subtype", in.Subtype, "name", cb.name, "panic", v, "stack", string(debug.Stack()))
			err = &panicError{v}
		}
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrTimeout):
			err = cause // whatever it returned, it came too late
		case errors.Is(cause, errDecided):
			reply, err = json.RawMessage(noOpinion), nil
		}
		t.Err = err
		if r.trace != nil || r.log.Enabled(ctx, slog.LevelDebug) { // reading the clock also takes time
			t.Duration = time.Since(begin)
		}
		r.settle(ctx, in, cb, reply, t)
	}()
	reply, err = cb.call.run(ctx)
}

// expire answers for a callback that has run out of time.
func (r *callbacks) expire(cb *callback) {
	in := cb.in
	err := fmt.Errorf("the callback %w after %v", ErrTimeout, cb.timeout)
	late := in.Pending()
	in.CancelContext(err) // before the write, which may take its time
	if late {             // even if the callback, now that its context has ended, answers first
		r.log.Warn("callback timed out", "subtype", in.Subtype, "name", cb.name, "request_id", in.ID.String(), "timeout", cb.timeout)
	}
	r.failed(in, cb, err)
}

// settle sends the answer of a callback that has ended.
func (r *callbacks) settle(ctx context.Context, in *peer.Incoming, cb *callback, reply json.RawMessage, t TraceCallback) {
	answered := false
	if t.Err == nil {
		t.Reply = reply
	}
	if cb.chained && t.Err != nil {
		r.trace.callbackStarted(t) // as a whole, since it failed
	}
	if !cb.chained || t.Err != nil {
		r.trace.callbackDone(t) // before the answer, which may end the session
	}
	if t.Err != nil {
		answered = r.failed(in, cb, t.Err)
		level := slog.LevelWarn
		if ctx.Err() != nil {
			level = slog.LevelDebug // withdrawn, closed, or logged at its timeout
		}
		r.log.Log(ctx, level, "callback failed", "subtype", in.Subtype, "name", cb.name, "request_id", t.RequestID, "error", t.Err)
	} else {
		answered = r.reply(in, cb, reply)
		if r.log.Enabled(ctx, slog.LevelDebug) { // or the arguments are allocated for nothing
			r.log.Debug("callback done", "subtype", in.Subtype, "name", cb.name, "request_id", t.RequestID, "duration", t.Duration)
		}
	}
	if !answered {
		r.log.Debug("answer of a callback came too late", "request_id", t.RequestID)
	}
}

// reply sends the answer of a callback and reports whether it was the first.
func (r *callbacks) reply(in *peer.Incoming, cb *callback, payload json.RawMessage) bool {
	if cb.decides == "" || !r.plan.races {
		return in.Reply(payload)
	}
	// Recorded before the reply: right after it the CLI may ask once more, which
	// makes the call undecided again.
	overtaken := r.race.decide(cb.decides)
	if !in.Reply(payload) {
		r.race.ask(cb.decides) // withdrawn: nothing was decided
		return false
	}
	for _, h := range overtaken {
		h.overtaken()
	}
	return true
}

// failed answers for a callback that has no answer of its own.
func (r *callbacks) failed(in *peer.Incoming, cb *callback, err error) bool {
	if answer := cb.call.fail(err); answer != nil {
		return r.reply(in, cb, answer)
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
// CLI as the refusal of the request. ctx ends as it does for other callbacks.
type RequestFunc func(ctx context.Context, request json.RawMessage) (reply any, err error)

// requestCallback returns the callback for a request that Options.Requests knows, nil
// for others.
func (r *callbacks) requestCallback(in *peer.Incoming) *callback {
	f, known := r.opts.Requests[in.Subtype]
	if !known {
		return nil
	}
	return &callback{
		name:    in.Subtype,
		timeout: r.opts.Timeouts.callback(),
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
// Setting and stopping a timer for each callback would wake other threads: a hook
// takes a quarter longer with a context.WithTimeoutCause for each callback.
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
	cb.prev, cb.next = nil, nil // so that a callback that never returns keeps no others alive
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
