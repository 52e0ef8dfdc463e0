package fleet

import (
	"time"
)

// makeRoom is reserve without the rate of the tenant, which the store counts.
func (r *roster) makeRoom(key string, rate Rate) (*conversation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.conversation(key)
	switch {
	case r.closed:
		r.forget(c)
		return nil, ErrClosed
	case c.Stopped:
		return nil, &ConversationError{key, ErrDeleted}
	case len(c.waiting)+c.reserved >= r.opts.Queue:
		return nil, &OverloadedError{Key: key, Queued: len(c.waiting) + c.reserved, Wait: r.wait(1)}
	case r.queued >= r.opts.QueueAll:
		n := r.queued
		r.forget(c)
		return nil, &OverloadedError{Queued: n, Wait: r.wait(r.queued / 10)}
	}
	if wait := r.rates.take(rate, key, time.Now()); wait > 0 {
		r.forget(c)
		return nil, &OverloadedError{Key: key, Wait: wait}
	}
	c.reserved++
	r.tally(1, 0)
	return c, nil
}

// giveRoom gives back the room that was reserved in the queue.
func (r *roster) giveRoom(c *conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.reserved--
	r.tally(-1, 0)
	r.forget(c)
}

// settle takes the prompt into the queue, or gives its room back. A prompt that may
// have been written counts until the store has been looked at.
func (r *roster) settle(c *conversation, q *queued, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.reserved--
	r.tally(-1, 0)
	if err == nil {
		r.learn(c, q)
	}
	r.forget(c)
	r.schedule()
}

// wait is how long so many prompts take.
func (r *roster) wait(prompts int) time.Duration {
	slots := max(r.opts.MaxLive, 1)
	n := time.Duration(max(prompts, 1)+slots-1) / time.Duration(slots)
	return max(time.Second, (n * r.turn).Round(time.Second))
}

// tick returns the time, later than that of all prompts before.
func (r *roster) tick(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !now.After(r.last) {
		now = r.last.Add(1)
	}
	r.last = now
	return now
}

// make makes an offer, unless the conversation has got something else to do.
func (r *roster) make(c *conversation, o *offer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.reserved-- // which is the room for this one
	takes := c.takesOffers()
	c.reserved++
	if takes {
		c.offered = o
		signal(c.wakeup)
	}
	return takes
}

// takeBack withdraws an offer, and reports whether it was still untaken.
func (r *roster) takeBack(c *conversation, o *offer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.offered != o {
		return false
	}
	c.offered = nil
	return true
}

// tally changes how many prompts wait and how many slots are taken.
func (r *roster) tally(queued, live int) {
	r.queued += queued
	r.live += live
	r.traceLoad(TraceLoad{r.queued, r.live})
}

// traceLoad reports numbers, until the fleet has ended.
func (r *roster) traceLoad(l TraceLoad) {
	if t := r.opts.Trace; t != nil && t.Load != nil && r.ctx.Err() == nil {
		t.Load(l)
	}
}
