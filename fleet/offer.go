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

// rest lets prompts be offered: the conversation has nothing to do.
func (w *waking) rest() {
	ready := store.Batcher(w.f.opts.Store) != nil && w.ready()
	w.f.roster.mu.Lock()
	defer w.f.roster.mu.Unlock()
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
	w.f.roster.mu.Lock()
	o := w.c.offered
	w.c.resting, w.c.offered = false, nil
	w.f.roster.mu.Unlock()
	if o != nil {
		o.answer <- errDeclined
	}
}

// offered takes the prompt that is offered, if nothing else is to be done; nil otherwise.
func (w *waking) offered() *offer {
	w.f.roster.mu.Lock()
	o := w.c.offered
	busy := w.c.Wanted || len(w.c.waiting) > 0
	if o != nil && !busy {
		w.c.resting, w.c.offered = false, nil
	}
	w.f.roster.mu.Unlock()
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
	begun.Accepted, begun.Begun, begun.Sent = w.f.roster.tick(now), 1, true
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
	w.f.roster.mu.Lock()
	defer w.f.roster.mu.Unlock()
	if !slices.Contains(w.c.waiting, p.name) { // unless somebody has just looked at the store
		w.c.waiting = append(w.c.waiting, p.name)
		w.f.roster.tally(1, 0)
	}
	return p, nil
}
