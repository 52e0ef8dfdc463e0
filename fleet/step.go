package fleet

import (
	"context"
)

// step is the next thing to do for a conversation.
type step int

const (
	sleep  step = iota // nothing, or nothing that can be done now
	send               // send the prompt
	finish             // let the CLI make the deferred call of the prompt
	resume             // let the CLI continue the turn of the prompt, which broke off
	await              // let the CLI answer the prompt, which it has already
	rewind             // let the CLI restore files
)

// decider decides about the next step of a conversation.
type decider interface {
	next(ctx context.Context) (step, *queued, error)
}
