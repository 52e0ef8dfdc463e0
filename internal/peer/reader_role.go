package peer

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/ndjson"
)

// readerRole is passed between the goroutines that read and handle requests:
// reading is a role, not a goroutine. A goroutine that has read a request passes it on and
// then handles the request itself. So a request is handled at once, where it is
// at hand; to pass it to another goroutine and to wait for that would take longer
// than most callbacks do. While handlers return at once, the role is not even
// passed on; see keptRole.
//
// A goroutine that is done waits for the role, but only one does: a second one is not
// needed. None waits while the peer rests.
type readerRole struct {
	reader  *ndjson.Reader
	ended   func(error)
	handoff chan bool    // what happens to the one waiting: the reader, or nothing; room for one
	waiting atomic.Bool  // a goroutine waits for the role, and was neither given it nor dismissed
	resting atomic.Bool  // no goroutine need wait
	quick   atomic.Int32 // handlers in a row that have returned at once
	kept    keptRole
}

// job is a request with its context.
type job struct {
	ctx context.Context
	in  *Incoming
}

// Serve reads and routes lines until the stream ends, in goroutines of its own.
// Then it calls ended: with nil at the orderly end, with the reader's error
// otherwise. It does not close the peer.
func (p *Peer) Serve(r *ndjson.Reader, ended func(error)) {
	p.role.reader, p.role.ended = r, ended
	p.role.kept.pass = func() {
		p.role.quick.Store(0) // the handler is not quick, and has not returned to say so
		p.passReaderRole()
	}
	go p.serve()
}

// RouteLastLine routes a line that the reader did not know to be whole. It is for ended.
func (p *Peer) RouteLastLine(line []byte) {
	if j, ok := p.route(line, cap(line)); ok {
		go p.runJob(j)
	}
}

// serve reads, handles, and waits for the role again. It begins as the reader.
func (p *Peer) serve() {
	for {
		j, ok, err := p.read()
		if !ok {
			p.role.ended(err)
			return
		}
		if p.role.quick.Load() >= trustedAfter {
			if p.runKeepingRole(j) {
				continue
			}
		} else {
			p.passReaderRole()
			p.runJob(j)
		}
		if !p.awaitReaderRole() {
			return
		}
	}
}

// read reads and routes lines until there is a request to be handled, or the
// stream ends.
func (p *Peer) read() (j job, ok bool, err error) {
	for {
		line, err := p.role.reader.Next()
		if long, ok := errors.AsType[*ndjson.TooLongError](err); ok {
			p.rejectOversized(long)
			continue
		}
		if err == io.EOF {
			return j, false, nil
		}
		if err != nil {
			return j, false, err
		}
		if j, ok = p.route(line, p.role.reader.Retained()); ok {
			return j, true, nil
		}
		if p.flooded() {
			return j, false, ErrFlood
		}
	}
}

// passReaderRole gives the role of the reader to the goroutine waiting for it, or to a new
// goroutine.
func (p *Peer) passReaderRole() {
	p.role.resting.Store(false)
	if !p.dismiss(true) {
		go p.serve()
	}
}

// Rest tells the peer that no request is expected for a while. The goroutine
// waiting for the next one ends; the next one starts another.
func (p *Peer) Rest() {
	p.role.resting.Store(true)
	p.dismiss(false)
}

// dismiss ends the wait for the role of the reader: the role is passed on, or it
// needs no goroutine. It reports whether a goroutine waited.
func (p *Peer) dismiss(asReader bool) bool {
	if !p.role.waiting.CompareAndSwap(true, false) {
		return false
	}
	p.role.handoff <- asReader // at once: who ends the waiting has the room, or soon gets it
	return true
}

// awaitReaderRole waits for the role of the reader. It reports false when the role
// needs no goroutine.
func (p *Peer) awaitReaderRole() bool {
	if !p.role.waiting.CompareAndSwap(false, true) {
		return false
	}
	if !p.role.resting.Load() {
		select {
		case asReader := <-p.role.handoff:
			return asReader
		case <-p.closed:
		}
	}
	if p.role.waiting.CompareAndSwap(true, false) {
		return false
	}
	return <-p.role.handoff // it was passed in the same moment
}

// runJob handles one request. A handler may end the goroutine.
func (p *Peer) runJob(j job) {
	defer p.wg.Done()
	defer p.open.Add(-1)
	defer p.leavePlace()
	begin := time.Now()
	p.handle(j.ctx, j.in)
	switch {
	case time.Since(begin) >= quickHandler:
		p.role.quick.Store(0)
	case p.role.quick.Load() < trustedAfter:
		p.role.quick.Add(1)
	}
}

// answerAside runs what answers a request that is not handled, in a goroutine of
// its own.
func (p *Peer) answerAside(f func()) {
	p.open.Add(1)
	p.wg.Go(func() {
		defer p.open.Add(-1)
		f()
	})
}
