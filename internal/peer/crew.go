package peer

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/claude-agent-go/claude/internal/ndjson"
)

// crew is the goroutines that read and handle requests. Reading is a role, not
// a goroutine: whoever has read a request hands the role over and then handles
// the request itself. So the reader runs no foreign code, and yet a request is
// handled at once, where it is at hand; to pass it to another goroutine and to
// wait for that would take longer than most callbacks do.
//
// Whoever is done waits for the role, but only one does: a second one is not
// needed.
type crew struct {
	reader  *ndjson.Reader
	ended   func(error)
	role    chan struct{} // one place
	waiting atomic.Bool   // somebody waits for the role, and it was not put there
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
	p.crew.reader, p.crew.ended = r, ended
	go p.serve()
}

// Take routes a line that the reader did not know to be whole. It is for ended.
func (p *Peer) Take(line []byte) {
	if j, ok := p.route(line, cap(line)); ok {
		go p.do(j)
	}
}

// serve is a member of the crew, which begins as the reader.
func (p *Peer) serve() {
	for deep := false; ; deep = true {
		j, ok, err := p.read()
		if !ok {
			p.crew.ended(err)
			return
		}
		p.handOver()
		if !deep {
			deepen(0)
		}
		p.do(j)
		if !p.await() {
			return
		}
	}
}

// read reads and routes lines until there is a request to be handled, or the
// stream ends.
func (p *Peer) read() (j job, ok bool, err error) {
	for {
		line, err := p.crew.reader.Next()
		if long, ok := errors.AsType[*ndjson.TooLongError](err); ok {
			p.oversized(long)
			continue
		}
		if err == io.EOF {
			return j, false, nil
		}
		if err != nil {
			return j, false, err
		}
		if j, ok = p.route(line, p.crew.reader.Held()); ok {
			return j, true, nil
		}
		if p.flooded() {
			return j, false, ErrFlood
		}
	}
}

// handOver gives the role of the reader to whoever waits for it, or to a new
// goroutine.
func (p *Peer) handOver() {
	if p.crew.waiting.CompareAndSwap(true, false) {
		p.crew.role <- struct{}{} // there is room: the place is for whoever ends the waiting
		return
	}
	go p.serve()
}

// await waits for the role of the reader. It reports false when nobody is needed
// for it.
func (p *Peer) await() bool {
	if !p.crew.waiting.CompareAndSwap(false, true) {
		return false
	}
	select {
	case <-p.crew.role:
		return true
	case <-p.closed:
	}
	if p.crew.waiting.CompareAndSwap(true, false) {
		return false
	}
	<-p.crew.role // it was put there in the same moment
	return true
}

// do handles one request. A handler may end the goroutine.
func (p *Peer) do(j job) {
	defer p.wg.Done()
	defer p.open.Add(-1)
	p.handle(j.ctx, j.in)
}

// answering runs what answers a request that is not handled, in a goroutine of
// its own.
func (p *Peer) answering(f func()) {
	p.open.Add(1)
	p.wg.Go(func() {
		defer p.open.Add(-1)
		f()
	})
}

// deepen grows the stack of a new goroutine at once. It grows by doubling, and
// in the depth of a decoder each step moves all frames, which takes longer than
// most callbacks do.
//
//go:noinline
func deepen(i int) byte {
	var room [10 << 10]byte
	return room[i]
}
