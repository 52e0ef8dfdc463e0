package fleet

import (
	"errors"
)

// A prompt that finds its conversation awake and idle need not wait in the queue: Send
// offers it to the goroutine that runs the conversation. That one writes it as accepted
// and begun in a single change, which the store makes only if the queue is empty, so no
// prompt that was accepted before is overtaken. An offer is declined as soon as there
// is anything else to do, and the prompt is queued.

// offer is a prompt that a running conversation may begin with at once.
type offer struct {
	p *queued
	// answer has one slot: nil if the prompt was accepted and its turn is about to
	// begin, errDeclined if nothing was written, or the error of the store if the
	// outcome of the write is not known.
	answer chan error
}

// begunFolder has the prompts that never waited. They do not change the folder of those
// that wait, so that a store may remember that it was empty. The folder and its prompts
// sort before all that wait. Only the owner of the lease writes to it.
const begunFolder = "0"

// errDeclined means that a prompt was not accepted, and is to be queued.
var errDeclined = errors.New("the prompt is to be queued")

// takesOffers reports whether the conversation is between two turns, and nothing is
// known to wait. The lock of the fleet is held.
func (c *conversation) takesOffers() bool {
	return c.resting && c.offered == nil && !c.Wanted && !c.Stopped && len(c.waiting) == 0 && c.reserved == 0
}
