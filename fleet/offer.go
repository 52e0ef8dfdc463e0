package fleet

import (
	"errors"
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
