package acp

import (
	"context"
	"sync"
)

// queue lets work that was begun in an order run in that order, one at a time.
// Its zero value is empty. It is safe for concurrent use.
type queue struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last one has left; nil: none has joined
}

// place is a place in a queue. Each must be left once.
type place struct{ before, gone chan struct{} }

// join takes the place behind all others.
func (q *queue) join() place {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := place{q.last, make(chan struct{})}
	q.last = p.gone
	return p
}

// wait returns when all places in front are left, or ctx has ended.
func (p place) wait(ctx context.Context) error {
	if p.before == nil {
		return nil
	}
	select {
	case <-p.before:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives the place up. Those behind still wait for those in front.
func (p place) leave() {
	if p.before == nil {
		close(p.gone)
		return
	}
	select {
	case <-p.before:
		close(p.gone)
	default:
		go func() {
			<-p.before
			close(p.gone)
		}()
	}
}
