package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/store"
)

// endings ends prompts without an answer: those that are cancelled or interrupted, and
// those whose calls are not decided in time. It marks the prompt first. If the conversation
// sleeps, asleep then lets the plan decide at once, so that the caller learns the outcome.
type endings struct {
	opts    *Options
	ctx     context.Context // ends with Close
	store   *announcer
	overdue *overdue
	records *records
	asked   *asked
	roster  *roster
	news    *news
	asleep  func(ctx context.Context, key string) error // house.decideAsleep, set by assemble
}

// finishCancel cleans up after a marked prompt. If it cannot, the next owner of the
// lease does.
func (e *endings) finishCancel(ctx context.Context, rec *record, p *queued, stuckHere bool) error {
	var o Ticket
	var err error
	if p.Sent {
		o, err = e.endBegun(ctx, rec.Key, p.ID)
	} else {
		o, err = e.endCancelled(ctx, rec, p, store.Fence{})
	}
	if err != nil || stuckHere {
		defer e.roster.want(rec.Key)
	} else {
		defer e.roster.wantWaiting(rec.Key) // those behind it, such as a rewind, which no budget holds
	}
	c := e.roster.hold(rec.Key)
	defer e.roster.unhold(c)
	if errors.Is(err, store.ErrLeased) { // its owner cleans up, once it learns about the mark
		_, err = e.records.free(ctx, rec.Key, p.ID, store.Fence{})
		e.news.finished(c, p.cancelled(rec))
		return err
	}
	if err != nil {
		e.news.finished(c, p.cancelled(rec))
		return &ConversationError{rec.Key, err}
	}
	e.roster.ended(c, p)
	e.news.finished(c, o)
	if o.Status != PromptCancelled {
		return &ConversationError{rec.Key, ErrBegun} // its answer was found meanwhile
	}
	return nil
}

// endBegun ends a marked prompt whose turn may have asked people, unless another process
// does so first.
func (e *endings) endBegun(ctx context.Context, key, prompt string) (Ticket, error) {
	if err := e.asleep(ctx, key); err != nil {
		return Ticket{}, err
	}
	o, ended, err := e.records.outcome(ctx, key, prompt)
	if err == nil && !ended {
		err = ErrUnknown // it was deleted
	}
	return o, err
}

// cancelled is the outcome of a marked prompt.
func (p *queued) cancelled(rec *record) Ticket {
	return Ticket{Prompt: p.ID, Status: PromptCancelled, Error: "it was cancelled", Cost: rec.Spent[p.ID].Ledger, Ended: p.Cancelled}
}

// endCancelled gives a marked prompt its outcome, frees a conversation that is stuck at
// it, and removes it from the queue: in this order, because after a crash the prompt shows
// what is left to do. The questions of its turn have ended before. An outcome that it
// already has counts. If the conversation was deleted meanwhile, the outcome is deleted as
// well. A caller without the lease may only end a prompt that has not begun.
func (e *endings) endCancelled(ctx context.Context, rec *record, p *queued, fence store.Fence) (Ticket, error) {
	o := p.cancelled(rec)
	name := outcomeName(rec.Key, p.ID)
	revision, err := e.records.put(ctx, kindOutcome, name, &o, 0, fence)
	if errors.Is(err, store.ErrConflict) {
		o, _, err = e.records.outcome(ctx, rec.Key, p.ID)
	}
	if err == nil {
		_, err = e.records.free(ctx, rec.Key, p.ID, fence)
	}
	if revision != 0 && (errors.Is(err, ErrUnknown) || errors.Is(err, ErrDeleted)) {
		if gone := store.Drop(ctx, e.store, e.records.key(kindOutcome, name), revision, fence); !errors.Is(gone, store.ErrNotFound) {
			err = errors.Join(err, gone)
		}
	}
	if err == nil {
		err = e.records.dropEnded(ctx, rec.Key, p, &o, fence)
	}
	return o, err
}
