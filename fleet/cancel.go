package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/store"
)

// endings ends prompts otherwise than by an answer: because they are cancelled or
// interrupted, or because nobody decides about their calls in time.
type endings struct {
	opts    *Options
	ctx     context.Context // ends with Close
	store   *announcer
	clock   *clock
	overdue *overdue
	records *records
	asked   *asked
	roster  *roster
	leases  *leases
	news    *news
}

// finishCancel tidies up after a prompt that is marked. If it cannot, the next owner of
// the lease does.
func (e *endings) finishCancel(ctx context.Context, rec *record, p *queued, stuckHere bool) error {
	var o Ticket
	var err error
	if p.Sent {
		o, err = e.endBegun(ctx, rec, p)
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
	if errors.Is(err, store.ErrLeased) { // its owner tidies up, when it has learned that there is something to do
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
	if o.Status != Cancelled {
		return &ConversationError{rec.Key, ErrBegun} // its answer was found meanwhile
	}
	return nil
}

// endBegun is endCancelled for a prompt whose turn may have asked people. Only the owner
// of a conversation knows whose its questions are, so it takes the lease. Under it, it
// looks for the prompt once more: if somebody else has tidied up, the questions are
// those of another turn.
func (e *endings) endBegun(ctx context.Context, rec *record, p *queued) (o Ticket, err error) {
	err = e.leases.owning(ctx, rec.Key, func(lease *owned) error {
		now, err := e.records.find(ctx, rec.Key, p.ID)
		if err != nil {
			return err
		}
		if now == nil {
			ended := false
			if o, ended, err = e.records.outcome(ctx, rec.Key, p.ID); err == nil && !ended {
				err = ErrUnknown // it was deleted
			}
			return err
		}
		owned, err := e.records.load(ctx, rec.Key)
		if err == nil {
			o, err = e.endCancelled(ctx, &owned, now, lease.Fence)
		}
		return err
	})
	return o, err
}

// cancelled is the outcome of a prompt that is marked.
func (p *queued) cancelled(rec *record) Ticket {
	return Ticket{Prompt: p.ID, Status: Cancelled, Error: "it was cancelled", Cost: rec.Spent[p.ID].Ledger, Ended: p.Cancelled}
}

// endCancelled gives a prompt that is marked its outcome, ends the questions of its turn,
// frees a conversation that is stuck at it, and removes it from the queue: in this order,
// because after a crash it is the prompt that says what is left to do. An outcome that
// it already has counts. If the conversation was deleted meanwhile, so is the outcome.
// A caller without the lease may only end a prompt that has not begun.
func (e *endings) endCancelled(ctx context.Context, rec *record, p *queued, fence store.Fence) (Ticket, error) {
	o := p.cancelled(rec)
	name := outcomeName(rec.Key, p.ID)
	revision, err := e.records.put(ctx, kindOutcome, name, &o, 0, fence)
	if errors.Is(err, store.ErrConflict) {
		o, _, err = e.records.outcome(ctx, rec.Key, p.ID)
	}
	if err == nil && p.Sent {
		err = e.asked.endQuestions(ctx, rec, fence) // or its deferred call is made when the session is resumed
	}
	if err == nil {
		_, err = e.records.free(ctx, rec.Key, p.ID, fence)
	}
	if revision != 0 && (errors.Is(err, ErrUnknown) || errors.Is(err, ErrDeleted)) {
		if gone := e.store.DropRecord(ctx, e.records.key(kindOutcome, name), revision, fence); !errors.Is(gone, store.ErrNotFound) {
			err = errors.Join(err, gone)
		}
	}
	if err == nil {
		err = e.records.dropEnded(ctx, rec.Key, p, &o, fence)
	}
	return o, err
}
