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
	r.asks, c.Asking, c.left, c.freed = true, true, make(chan struct{}), false
	r.running.Go(func() {
		again := r.leases.askForLease(r.ctx, c.key)
		r.mu.Lock()
		defer r.mu.Unlock()
		close(c.left)
		r.asks, c.Asking, c.left = false, false, nil
		if c.freed {
			again = 0
		}
		now := time.Now()
		c.Held, c.After = again > 0, now.Add(again)
		r.waitlist.Put(c, now)
		r.forget(c)
		r.schedule()
	})
}

// noticeReleased asks at once for a lease that another process has given back. The news
// may overtake the answer to a request that was made before.
func (r *roster) noticeReleased(at string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.active[keyAt(at)]
	if c == nil {
		return
	}
	c.freed = true
	if c.Held {
		c.Held, c.After = false, time.Time{}
		r.waitlist.Put(c, time.Now())
		r.schedule()
	}
}
