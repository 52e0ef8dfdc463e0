package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Errors of outgoing calls. The texts come from the specification.
var (
	ErrQueueFull    = errors.New("too many control operations queued during initialization")
	ErrTooManyCalls = errors.New("too many pending control requests")
	// ErrNotOpened is around the cause by which a peer was closed that never
	// opened: what was held back was never sent.
	ErrNotOpened = errors.New("session not initialized")
)

// TimeoutError reports that a call's own time limit passed without a reply.
type TimeoutError struct {
	Subtype string
	ID      wire.ID // "" when nothing of the call could be written
	After   time.Duration
}

func (e *TimeoutError) Error() string {
	if e.ID == "" {
		return fmt.Sprintf("%s timed out after %v, unsent", e.Subtype, e.After)
	}
	return fmt.Sprintf("%s (%s) timed out after %v", e.Subtype, e.ID, e.After)
}

// Timeout marks the error as a timeout in the manner of net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// RefusedError is an error reply of the other side.
type RefusedError struct {
	Subtype string
	ID      wire.ID
	Reply   *wire.ReplyError
}

func (e *RefusedError) Error() string { return e.Subtype + ": " + e.Reply.Error() }

// Call is an outgoing request.
type Call struct {
	Subtype           string
	Payload           any           // an object without subtype, or nil
	Timeout           time.Duration // for the way to its turn, from Open on, and from there; 0: the context alone bounds the call
	BeforeOpen        bool          // goes out although the peer is held
	OnWritten         func()        // called when the request stands on the stream
	AwaitCancelNotice bool          // the cancel notice stands on the stream before Call returns
}

// errOwnTimeout is the cause by which a call's own limit is distinguished from its
// caller's deadline.
var errOwnTimeout = errors.New("call timed out")

// Call sends a request and waits for its reply. A call that ends without one
// is forgotten, and the other side gets a cancel notice; a late reply is dropped.
//
// The response of a failed call has the id, if the call was sent. The error is
// a [TimeoutError], a [RefusedError], a limit, the context's
// cause, the peer's cause of closing, or that of the failed write.
func (p *Peer) Call(ctx context.Context, c Call) (wire.Response, error) {
	reply := make(chan wire.Response, 1)
	var sent struct { // in one piece, which costs one allocation
		ctx  context.Context
		stop context.CancelFunc
		id   wire.ID
	}
	sent.ctx = ctx
	err := p.sendInOrder(ctx, c.BeforeOpen, c.Timeout, func() (err error) {
		if c.Timeout > 0 {
			sent.ctx, sent.stop = context.WithTimeoutCause(ctx, c.Timeout, errOwnTimeout)
		}
		sent.id, err = p.startCall(sent.ctx, c, reply)
		return err
	})
	if sent.stop != nil {
		defer sent.stop()
	}
	if err == nil {
		select {
		case r := <-reply:
			return replyResult(c, r)
		case <-sent.ctx.Done():
			err = context.Cause(sent.ctx)
		case <-p.closed:
			err = p.Cause()
		}
	}
	if sent.id != "" && !p.abandonCall(sent.id, c.AwaitCancelNotice) {
		// The reply came in the same moment: it counts.
		select {
		case r := <-reply:
			return replyResult(c, r)
		default:
		}
	}
	if errors.Is(err, errOwnTimeout) {
		err = &TimeoutError{Subtype: c.Subtype, ID: sent.id, After: c.Timeout}
	}
	return wire.Response{ID: sent.id}, err
}

func replyResult(c Call, r wire.Response) (wire.Response, error) {
	if r.Err != nil {
		return r, &RefusedError{Subtype: c.Subtype, ID: r.ID, Reply: r.Err}
	}
	return r, nil
}

// startCall registers the waiter, then writes: the reply may come at once.
func (p *Peer) startCall(ctx context.Context, c Call, reply chan wire.Response) (wire.ID, error) {
	var id wire.ID
	var err error
	var pending int
	p.update(func(s *state) {
		switch pending = len(s.calls); {
		case s.cause != nil:
			err = s.closeError()
		case pending >= p.cfg.Limits.Pending:
			err = fmt.Errorf("%w (max %d). Check for stuck operations or excessive concurrency", ErrTooManyCalls, p.cfg.Limits.Pending)
		default:
			id = p.cfg.NewID(s.nextID)
			s.nextID++
			s.calls[id] = reply
		}
	})
	if err != nil {
		p.warnLimit(err, pending)
		return "", err
	}
	line, err := wire.EncodeRequest(id, c.Subtype, c.Payload)
	if err != nil {
		p.removeCall(id)
		return "", err
	}
	if err := p.cfg.Writer.Write(ctx, line); err != nil {
		if errors.Is(err, ndjson.ErrNotBegun) {
			p.removeCall(id)
			id = ""
		}
		return id, err
	}
	if c.OnWritten != nil {
		c.OnWritten()
	}
	return id, nil
}

// warnLimit logs that something was not sent because too much waits already.
func (p *Peer) warnLimit(err error, count int) {
	if errors.Is(err, ErrTooManyCalls) || errors.Is(err, ErrQueueFull) {
		p.cfg.Log.Warn("limit of outgoing requests reached", "count", count, "error", err)
	}
}

// abandonCall drops a call that will not be awaited any more and tells the other
// side, best effort. It reports false when the call was no longer pending.
func (p *Peer) abandonCall(id wire.ID, wait bool) bool {
	pending, notify := false, false
	tell := p.cfg.Cancels == nil || p.cfg.Cancels()
	told := make(chan struct{})
	p.update(func(s *state) {
		if _, pending = s.calls[id]; !pending || s.cause != nil {
			return
		}
		delete(s.calls, id)
		if notify = tell; !notify {
			return
		}
		p.wg.Go(func() {
			defer close(told)
			ctx, cancel := context.WithTimeout(context.Background(), cancelNoticeTimeout)
			defer cancel()
			_ = p.cfg.Writer.Write(ctx, wire.EncodeCancel(id))
		})
	})
	if notify && wait {
		<-told
	}
	return pending
}

// removeCall forgets a call that was not written at all.
func (p *Peer) removeCall(id wire.ID) {
	p.update(func(s *state) { delete(s.calls, id) })
}

// deliverReply gives a reply to its waiter.
func (p *Peer) deliverReply(f wire.Frame) {
	r, err := f.Response()
	if err != nil {
		p.cfg.Handler.Fault(f.Line, err)
		return
	}
	var waiter chan wire.Response
	var issued uint64
	p.update(func(s *state) {
		waiter, issued = s.calls[r.ID], s.nextID
		delete(s.calls, r.ID)
	})
	if waiter != nil {
		waiter <- r // one slot, and the entry is gone: never blocks
		return
	}
	switch n, own := r.ID.Own(); {
	case own && n < issued:
		p.cfg.Log.Debug("late reply dropped", "request_id", r.ID.String())
	case !own && p.cfg.EchoesReplies:
		p.cfg.Log.Debug("our own reply came back", "request_id", r.ID.String())
	default:
		p.cfg.Log.Warn("orphan reply dropped", "request_id", r.ID.String())
	}
}

// queuedSend is something that waits for the peer to open.
type queuedSend struct {
	ctx  context.Context
	do   func() error
	done chan error // one slot
}

// Send writes a line in order with the calls: held back until Open.
func (p *Peer) Send(ctx context.Context, line []byte) error {
	return p.sendInOrder(ctx, false, 0, func() error {
		if cause := p.Cause(); cause != nil {
			return cause
		}
		return p.cfg.Writer.Write(ctx, line)
	})
}

// sendInOrder runs do, now or after everything that was held back before it. The
// timeout, if there is one, bounds the wait for the lines before it, from Open
// on: a line that the other side does not take would block all others.
func (p *Peer) sendInOrder(ctx context.Context, first bool, timeout time.Duration, do func() error) error {
	var h *queuedSend
	var err error
	var queued int
	p.update(func(s *state) {
		switch queued = len(s.queue); {
		case s.cause != nil:
			err = s.closeError()
		case !s.held || first:
		case !s.flushing && queued >= p.cfg.Limits.Queued:
			err = fmt.Errorf("%w (max %d). Is the CLI responding?", ErrQueueFull, p.cfg.Limits.Queued)
		default:
			h = &queuedSend{ctx: ctx, do: do, done: make(chan error, 1)}
			s.queue = append(s.queue, h)
		}
	})
	if err != nil {
		p.warnLimit(err, queued)
		return err
	}
	if h == nil {
		return do()
	}
	return p.awaitQueued(ctx, h, timeout)
}

// awaitQueued waits for what happens to something that is held.
func (p *Peer) awaitQueued(ctx context.Context, h *queuedSend, timeout time.Duration) error {
	opened := p.opened
	if timeout <= 0 {
		opened = nil
	}
	for {
		select {
		case err := <-h.done:
			return err
		case <-opened:
			opened = nil
			var stop context.CancelFunc
			ctx, stop = context.WithTimeoutCause(ctx, timeout, errOwnTimeout)
			defer stop()
		case <-ctx.Done():
			if p.removeQueued(h) {
				return fmt.Errorf("%w: %w", ndjson.ErrNotBegun, context.Cause(ctx))
			}
			return <-h.done // the flush has it: its write ends by itself
		}
	}
}

func (p *Peer) removeQueued(h *queuedSend) (found bool) {
	p.update(func(s *state) {
		for i, q := range s.queue {
			if q == h {
				s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
				found = true
				return
			}
		}
	})
	return found
}

// Open lets held calls out, in their order, each written before the next. It
// returns at once and may be called again.
func (p *Peer) Open() {
	p.update(func(s *state) {
		switch {
		case !s.held || s.flushing || s.cause != nil:
		case len(s.queue) == 0:
			s.held = false // at once: later calls need not wait
		default:
			s.flushing = true
			close(p.opened)
			p.wg.Go(p.flush)
		}
	})
}

func (p *Peer) flush() {
	for {
		var h *queuedSend
		p.update(func(s *state) {
			if len(s.queue) == 0 {
				s.held, s.flushing = false, false
				return
			}
			h, s.queue = s.queue[0], s.queue[1:]
		})
		if h == nil {
			return
		}
		if h.ctx.Err() != nil {
			h.done <- fmt.Errorf("%w: %w", ndjson.ErrNotBegun, context.Cause(h.ctx))
			continue
		}
		h.done <- h.do()
	}
}
