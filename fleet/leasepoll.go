package fleet

import (
	"time"
)

// A conversation that another process runs is asked for now and then, because it may
// be given up before its lease ends. That takes no slot: otherwise those that are
// idle would give up their CLIs for one that cannot run here.

// askForLeases asks for the leases that may be free by now, one after another.
func (f *Fleet) askForLeases(now time.Time) {
	if f.asks {
		return
	}
	c := f.waitlist.TakeLeased(now)
	if c == nil {
		return
	}
	f.asks, c.Asking, c.left = true, true, make(chan struct{})
	f.running.Go(func() {
		again := f.leases.askForLease(f.ctx, c.key)
		f.mu.Lock()
		defer f.mu.Unlock()
		close(c.left)
		f.asks, c.Asking, c.left = false, false, nil
		now := time.Now()
		c.Held, c.After = again > 0, now.Add(again)
		f.waitlist.Put(c, now)
		f.forget(c)
		f.schedule()
	})
}

// noticeReleased asks at once for a lease that another process has given back.
func (f *Fleet) noticeReleased(at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.active[keyAt(at)]; c != nil && c.Held {
		c.Held, c.After = false, time.Time{}
		f.waitlist.Put(c, time.Now())
		f.schedule()
	}
}
