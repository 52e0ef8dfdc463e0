package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/store"
)

// A prompt that finds its conversation awake and with nothing to do need not lie in the
// queue: Send offers it to the one who runs the conversation. That one writes it down as
// accepted and begun in a single change, which the store makes only if the queue is
// empty, so no prompt that was accepted before is overtaken. An offer is declined as
// soon as anything else is to be done, and the prompt is queued then.

// offer is a prompt that the one who runs its conversation may begin with at once.
type offer struct {
	p *queued
	// answer has one slot: nil if the prompt was accepted and its turn is about to
	// begin, errDeclined if nothing was written, or what the store has said if it is not
	// known whether it was.
	answer chan error
}

// begunFolder has the prompts that never waited, so that the folder with those that wait
// does not change by them: a store may remember that it was empty. It comes before all
// that wait, as do its prompts. Only the owner of the lease puts something into it.
const begunFolder = "0"

// errDeclined means that a prompt was not accepted, and is to be queued.
var errDeclined = errors.New("the prompt is to be queued")

// takesOffers reports whether the conversation is between two turns, and nothing is
// known to wait. The lock of the fleet is held.
func (c *conversation) takesOffers() bool {
	return c.resting && c.offered == nil && !c.Wanted && !c.Stopped && len(c.waiting) == 0 && c.reserved == 0
}

// sendNow lets a conversation that is between two turns begin with a prompt. If it
// declines, the error is errDeclined. Room in the queue may be reserved then: if the
// conversation is returned, even if another error says that the prompt may have been
// accepted.
func (f *Fleet) sendNow(ctx context.Context, key string, q *queued) (reserved *conversation, err error) {
	f.mu.Lock()
	c := f.active[key]
	free := c != nil && c.takesOffers()
	f.mu.Unlock()
	if !free || !q.fresh || q.Steer || q.Rewind != nil {
		return nil, errDeclined
	}
	limits, err := f.budgets.limits(key)
	if err != nil {
		return nil, err
	}
	if c, err = f.reserve(ctx, key, limits.Rate); err != nil {
		return nil, err
	}
	o := &offer{p: q, answer: make(chan error, 1)}
	if !f.make(c, o) {
		return c, errDeclined
	}
	select {
	case err = <-o.answer:
	case <-ctx.Done():
		err = error(&ConversationError{key, context.Cause(ctx)})
		if !f.takeBack(c, o) {
			err = q.inDoubt(key, context.Cause(ctx))
		}
		f.giveRoom(c)
		return nil, err
	}
	if err != nil {
		return c, err
	}
	f.giveRoom(c)
	return nil, nil
}

// make makes an offer, unless the conversation has got something else to do.
func (f *Fleet) make(c *conversation, o *offer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.reserved-- // which is the room for this one
	takes := c.takesOffers()
	c.reserved++
	if takes {
		c.offered = o
		signal(c.wakeup)
	}
	return takes
}

// takeBack withdraws an offer, and reports whether nobody has taken it.
func (f *Fleet) takeBack(c *conversation, o *offer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.offered != o {
		return false
	}
	c.offered = nil
	return true
}

// giveRoom gives back the room that was reserved in the queue.
func (f *Fleet) giveRoom(c *conversation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.reserved--
	f.tally(-1, 0)
	f.forget(c)
}

// rest lets prompts be offered: the conversation has nothing to do.
func (w *waking) rest() {
	ready := store.Batcher(w.f.opts.Store) != nil && w.ready()
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.c.resting = ready
}

// ready reports whether a prompt that comes now can begin at once. Only the owner of the
// lease lets a conversation be stuck, counts what it costs and deletes it, so what was
// last read of it is still true in this.
func (w *waking) ready() bool {
	known := w.rec.revision != 0 && w.rec.Stuck == nil && w.rec.Unsettled == "" && !w.inDoubt
	return known && w.session != nil && !w.given("") && !w.over() && w.f.budgets.budget(w.f.ctx, &w.rec) == nil
}

// decline ends the rest, and lets a prompt that was offered be queued.
func (w *waking) decline() {
	w.f.mu.Lock()
	o := w.c.offered
	w.c.resting, w.c.offered = false, nil
	w.f.mu.Unlock()
	if o != nil {
		o.answer <- errDeclined
	}
}

// offered takes the prompt that is offered, if nothing else is to be done; nil otherwise.
func (w *waking) offered() *offer {
	w.f.mu.Lock()
	o := w.c.offered
	busy := w.c.Wanted || len(w.c.waiting) > 0
	if o != nil && !busy {
		w.c.resting, w.c.offered = false, nil
	}
	w.f.mu.Unlock()
	if busy {
		w.decline()
		return nil
	}
	return o
}

// accept writes a prompt that was offered down as accepted and begun, and returns it as
// the store has it: the caller of Send may change what it has sent. It returns errDeclined
// if nothing was written: a prompt waits that was accepted elsewhere, or something is to be
// looked at first. After any other error it is not known whether it was written.
func (w *waking) accept(ctx context.Context, offered *queued) (*queued, error) {
	if !w.ready() {
		return nil, errDeclined
	}
	now, err := w.f.clock.about(ctx, w.f.store)
	if err != nil {
		return nil, errDeclined
	}
	w.c.takeMore() // nothing waits that could steer
	begun := *offered
	begun.Accepted, begun.Begun, begun.Sent = w.f.tick(now), 1, true
	name := place(w.c.key) + "/" + begunFolder + "/" + stamp(begun.Accepted, begun.ID)
	change, err := w.f.records.changeTo(kindPrompt, name, &begun, 0)
	if err != nil {
		return nil, errDeclined
	}
	change.IfEmpty = place(w.c.key)
	next, err := w.f.store.ChangeRecords(ctx, []store.RecordChange{change}, w.lease.Fence)
	if errors.Is(err, store.ErrInvalid) || errors.Is(separately(err), errSeparately) {
		return nil, errDeclined
	}
	if err != nil {
		return nil, err
	}
	p := &queued{name: name, revision: next[0]}
	if err := decode(store.Record{Key: change.Key, Value: change.Value}, p); err != nil {
		return nil, err
	}
	w.queue, w.outcomes = map[string]bool{p.ID: true}, nil
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if !slices.Contains(w.c.waiting, p.name) { // unless somebody has just looked at the store
		w.c.waiting = append(w.c.waiting, p.name)
		w.f.tally(1, 0)
	}
	return p, nil
}
