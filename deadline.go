package claude

import (
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
)

// deadlines ends callbacks that take too long. One timer serves all of a
// session, and it is not stopped when a callback is done: most are done at once
// and have the same limit, so that it fires about once in that time instead of
// being set and stopped for each, which wakes up other threads.
type deadlines struct {
	expire func(*callback) // called in a goroutine of its own

	mu    sync.Mutex
	first *callback // of those that are watched
	timer *time.Timer
	at    time.Time // when the timer fires; zero: it is not set
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

// done is the end of a callback.
func (d *deadlines) done(cb *callback) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(cb)
}

// forget ends the watching of a callback. It must be locked.
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
	cb.prev, cb.next = nil, nil // one that never returns keeps no other
}

// set sets the timer, which is the only place that knows the clock. It must be
// locked.
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

// fire ends what is due, and sets the timer for what is next.
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

// stop ends the watching. Callbacks end with their session.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
