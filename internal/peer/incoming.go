package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/wire"
)

// ErrCancelled is the cause of an incoming request's context when the other
// side has taken the request back.
var ErrCancelled = errors.New("request cancelled by the other side")

// Incoming is a request of the other side on its way to an answer.
type Incoming struct {
	wire.Request

	peer    *Peer
	cancel  context.CancelCauseFunc
	settled atomic.Bool // answered, cancelled or closed: nothing is written any more
}

// CancelContext ends the request's context. It may be called again: the first cause
// stays.
func (in *Incoming) CancelContext(cause error) { in.cancel(cause) }

// Reply answers with a success. Only the first answer counts: Reply reports
// whether this was it.
func (in *Incoming) Reply(payload json.RawMessage) bool {
	line, err := wire.EncodeSuccess(in.ID, payload)
	if err != nil {
		line = wire.EncodeError(in.ID, &wire.ReplyError{Message: err.Error()})
	}
	return in.answer(line)
}

// Fail answers with an error. Only the first answer counts.
func (in *Incoming) Fail(e *wire.ReplyError) bool {
	return in.Pending() && in.answer(wire.EncodeError(in.ID, e))
}

// answer writes a reply.
func (in *Incoming) answer(line []byte) (first bool) {
	if !in.Pending() {
		return false
	}
	err := in.peer.cfg.Writer.WriteIf(context.Background(), line, in)
	if errors.Is(err, ndjson.ErrNotBegun) || errors.Is(err, ndjson.ErrLineBreak) {
		return false
	}
	in.peer.update(func(s *state) {
		s.replying--
		if s.replying == 0 && s.written != nil {
			close(s.written)
			s.written = nil
		}
	})
	in.peer.cfg.OnSettled()
	return true // even if the stream broke: there is no other
}

// Claim takes the right to answer, unless it is taken. The writer calls it when
// the stream is ours: a cancel that comes while the answer waits for the stream
// still counts.
func (in *Incoming) Claim() (first bool) {
	in.peer.update(func(s *state) {
		if first = in.settled.CompareAndSwap(false, true); first {
			delete(s.incoming, in.ID)
			s.replying++
		}
	})
	return first
}

// Pending reports whether the request still awaits its answer.
func (in *Incoming) Pending() bool { return !in.settled.Load() }

// receiveRequest takes a control_request in. It is returned if it is to be handled.
func (p *Peer) receiveRequest(f wire.Frame) (j job, ok bool) {
	req, err := f.Request()
	if err != nil {
		p.rejectMalformed(f, req.ID, err)
		return j, false
	}
	in := &Incoming{Request: req, peer: p}
	ctx, cancel := context.WithCancelCause(p.cfg.Context)
	in.cancel = cancel
	var full bool
	var running int
	registered := p.register(in, func(s *state) {
		full, running = s.running >= p.cfg.Limits.Running, s.running
		if !full {
			s.running++
		}
	})
	if !registered {
		cancel(nil)
		return j, false
	}
	if p.cfg.Handler.Accept(req) {
		if !full {
			p.leavePlace()
		}
		p.answerAside(func() { p.handle(ctx, in) })
		return j, false
	}
	if full {
		p.cfg.Log.Warn("too many requests are being handled", "count", running, "subtype", req.Subtype, "request_id", req.ID.String())
		p.answerAside(func() {
			defer cancel(nil)
			p.cfg.Handler.Refuse(in)
			in.Fail(&wire.ReplyError{Message: fmt.Sprintf("too many requests are being handled (max %d)", running)})
		})
		return j, false
	}
	p.open.Add(1)
	p.wg.Add(1)
	return job{ctx, in}, true
}

// register makes a request one that awaits its answer, and then updates the
// state further. It reports false for one that may not be answered: the peer is
// closed, or the id is that of a request which still awaits its own answer, and
// the other side would take an answer to this one for that.
func (p *Peer) register(in *Incoming, then func(*state)) bool {
	var duplicate, closed bool
	p.update(func(s *state) {
		_, duplicate = s.incoming[in.ID]
		if closed = s.cause != nil; closed || duplicate {
			return
		}
		s.incoming[in.ID] = in
		then(s)
	})
	if duplicate && !closed {
		p.cfg.Log.Warn("request with an id that is still pending dropped", "request_id", in.ID.String())
	}
	return !closed && !duplicate
}

func (p *Peer) leavePlace() { p.update(func(s *state) { s.running-- }) }

// handle runs the handler. Whatever happens to it, panic and Goexit included,
// the request is answered.
func (p *Peer) handle(ctx context.Context, in *Incoming) {
	defer func() {
		if in.Pending() {
			in.Fail(&wire.ReplyError{Message: "the handler gave no answer"})
		}
		in.cancel(nil)
	}()
	defer func() {
		if v := recover(); v != nil {
			p.cfg.Log.Error("panic in a request handler", "subtype", in.Subtype, "request_id", in.ID.String(), "panic", v, "stack", string(debug.Stack()))
			in.Fail(&wire.ReplyError{Message: "the handler panicked"})
		}
	}()
	p.cfg.Handler.Request(ctx, in)
}

// rejectMalformed reports a request that lacks a field, and answers it if it can be
// answered.
func (p *Peer) rejectMalformed(f wire.Frame, id wire.ID, err error) {
	p.cfg.Handler.Fault(f.Line, err)
	p.rejectUnhandled(id, err.Error())
}

// rejectUnhandled answers a request that has no handler. Like any other it is
// answered once, and not at all if its id is taken or if it is cancelled first.
func (p *Peer) rejectUnhandled(id wire.ID, why string) {
	if id == "" {
		return
	}
	in := &Incoming{Request: wire.Request{ID: id}, peer: p, cancel: func(error) {}}
	if p.register(in, func(*state) {}) {
		p.answerAside(func() { in.Fail(&wire.ReplyError{Message: why}) })
	}
}

// cancelRequest serves control_cancel_request: the request's context ends and nothing
// is written for it any more.
func (p *Peer) cancelRequest(id wire.ID) {
	var in *Incoming
	p.update(func(s *state) {
		if in = s.incoming[id]; in != nil {
			in.settled.Store(true)
			delete(s.incoming, id)
		}
	})
	if in == nil {
		p.cfg.Log.Debug("cancel for a request that is not pending", "request_id", id.String())
		return
	}
	in.CancelContext(ErrCancelled)
	p.cfg.OnSettled()
}
