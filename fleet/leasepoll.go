package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A conversation that another process runs is asked for now and then, because it may
// be given up before its lease ends. That takes no slot: otherwise those that are
// idle would give up their CLIs for one that cannot run here.

// askAgain is how long to wait before asking again for a lease that another process
// has: until it ends if it is not renewed, but not longer than the time between two
// polls.
func (f *Fleet) askAgain(held *store.HeldError) time.Duration {
	return comeBack(min(held.For, f.opts.Poll), f.opts.TTL)
}

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
		again := f.askForLease(f.ctx, c.key)
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

// askBound is how long the store may take to say whether a lease is free.
const askBound = 10 * time.Second

// askForLease returns when to ask again for a lease, 0 if it is free.
func (f *Fleet) askForLease(ctx context.Context, key string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	lease, err := f.own(ctx, key)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return f.askAgain(held)
	}
	if err != nil {
		return retryAfter
	}
	if err := lease.release(ctx); err != nil {
		f.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", key, "error", err)
	}
	return 0
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
