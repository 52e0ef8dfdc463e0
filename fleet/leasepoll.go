package fleet

import (
	"time"
)

// The lease of a conversation that another process runs is asked for now and then,
// because it may be given up before it expires. That takes no slot: otherwise idle
// conversations would give up their CLIs for one that cannot run here.

// askForLeases asks for the leases that may be free by now, one after another.
func (r *roster) askForLeases(now time.Time) {
	if r.asks {
		return
	}
	c := r.waitlist.TakeLeased(now)
	if c == nil {
		return
	}
	r.asks, c.Asking, c.left = true, true, make(chan struct{})
	r.running.Go(func() {
		again := r.leases.askForLease(r.ctx, c.key)
		r.mu.Lock()
		defer r.mu.Unlock()
		close(c.left)
		r.asks, c.Asking, c.left = false, false, nil
		now := time.Now()
		c.Held, c.After = again > 0, now.Add(again)
		r.waitlist.Put(c, now)
		r.forget(c)
		r.schedule()
	})
}

// noticeReleased asks at once for a lease that another process has given back.
func (r *roster) noticeReleased(at string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.active[keyAt(at)]; c != nil && c.Held {
		c.Held, c.After = false, time.Time{}
		r.waitlist.Put(c, time.Now())
		r.schedule()
	}
}
