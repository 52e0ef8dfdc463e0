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
	expire func(*deadline) // called in a goroutine of its own

	mu      sync.Mutex
	running map[*deadline]struct{}
	timer   *time.Timer
	at      time.Time // when the timer fires; zero: it is not set
	over    bool
}

// deadline is when a callback must be done.
type deadline struct {
	at time.Time
	in *peer.Incoming
	cb *callback
}

// add begins to watch a callback.
func (d *deadlines) add(begin time.Time, in *peer.Incoming, cb *callback) *deadline {
	own := &deadline{begin.Add(cb.timeout), in, cb}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		d.running = make(map[*deadline]struct{})
	}
	d.running[own] = struct{}{}
	if d.at.IsZero() || own.at.Before(d.at) {
		d.set(own.at)
	}
	return own
}

// done is the end of a callback.
func (d *deadlines) done(own *deadline) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, own)
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
	for own := range d.running {
		switch {
		case !own.at.After(now):
			delete(d.running, own)
			go d.expire(own)
		case next.IsZero() || own.at.Before(next):
			next = own.at
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
