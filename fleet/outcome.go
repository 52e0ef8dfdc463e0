package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// The end of a prompt is four changes in the store: its cost, its outcome, a mark for
// the log of outcomes, and its removal from the queue. A store that supports it makes
// all four atomically. In any other, and whenever something was changed in between,
// they are made one after another, in this order: a process that dies half way has then
// counted the cost once, and a prompt with an outcome never runs again.

// errSeparately means that changes were not made at once, and must be made one by one.
var errSeparately = errors.New("the changes are to be made one by one")

// separately turns the error of an atomic change into errSeparately, if single changes
// can deal with its reason.
func separately(err error) error {
	for _, reason := range []error{store.ErrConflict, store.ErrNotFound, errors.ErrUnsupported} {
		if errors.Is(err, reason) {
			return errSeparately
		}
	}
	return err
}

// end gives a prompt its outcome and removes it from the queue. If the outcome
// is written and the prompt is still there, the outcome counts.
func (rs *records) end(ctx context.Context, key string, p *queued, o Ticket, fence store.Fence) error {
	o.Prompt = p.ID
	if _, err := rs.endAtOnce(ctx, key, p, o, fence); !errors.Is(err, errSeparately) {
		return err
	}
	o.shorten()
	_, err := rs.put(ctx, kindOutcome, outcomeName(key, p.ID), &o, 0, fence)
	if err != nil && !errors.Is(err, store.ErrConflict) { // it had one
		return err
	}
	return rs.dropEnded(ctx, key, p, &o, fence)
}

// endAtOnce is end together with other changes, which come first.
func (rs *records) endAtOnce(ctx context.Context, key string, p *queued, o Ticket, fence store.Fence, others ...store.RecordChange) ([]int64, error) {
	o.shorten()
	outcome, err := rs.changeTo(kindOutcome, outcomeName(key, p.ID), &o, 0)
	if err != nil {
		return nil, err
	}
	mark, err := rs.markEnded(key, &o, fence)
	if err != nil {
		return nil, err
	}
	drop := store.RecordChange{Key: rs.key(kindPrompt, p.name), Drop: true, Revision: p.revision}
	next, err := rs.store.ChangeRecords(ctx, append(others, outcome, mark, drop), fence)
	return next, separately(err)
}

// outcomeName is the name of the outcome of a prompt.
func outcomeName(key, id string) string { return place(key) + "/" + id }

// dropEnded removes a prompt that has its outcome from the queue. A process that finds
// the prompt there cannot know whether its outcome is marked, so dropEnded marks it
// first.
func (rs *records) dropEnded(ctx context.Context, key string, p *queued, o *Ticket, fence store.Fence) error {
	mark, err := rs.markEnded(key, o, fence)
	if err != nil {
		return err
	}
	drop := store.RecordChange{Key: rs.key(kindPrompt, p.name), Drop: true, Revision: p.revision}
	_, err = rs.store.ChangeRecords(ctx, []store.RecordChange{mark, drop}, fence)
	if err = separately(err); !errors.Is(err, errSeparately) {
		return err
	}
	if _, err = rs.store.GetRecord(ctx, drop.Key); errors.Is(err, store.ErrNotFound) {
		return nil // the process that took it out of the queue has marked it before
	}
	if err == nil {
		err = rs.log.PutMark(ctx, mark, fence)
	}
	if err != nil {
		return fmt.Errorf("claude: fleet: mark the outcome of prompt %s: %w", p.ID, err)
	}
	return rs.drop(ctx, p, fence)
}

// markEnded returns the change that marks a prompt as ended.
func (rs *records) markEnded(key string, o *Ticket, fence store.Fence) (store.RecordChange, error) {
	e := outcomelog.Entry{Key: key, Prompt: o.Prompt, Status: string(o.Status), At: o.Ended}
	return rs.log.Mark(outcomeName(key, o.Prompt), e, fence)
}

// markDeleted marks a conversation as deleted. The name has the fencing token: a key that
// is used again can be deleted again before the first mark is collected.
func (rs *records) markDeleted(ctx context.Context, key string, now time.Time, fence store.Fence) error {
	mark, err := rs.log.Mark(fmt.Sprintf("%s/deleted-%d", place(key), fence.Token), outcomelog.Entry{Key: key, At: now}, fence)
	if err != nil {
		return err
	}
	return rs.log.PutMark(ctx, mark, fence)
}

// outcome returns how a prompt ended; false if it has not.
func (rs *records) outcome(ctx context.Context, key, id string) (o Ticket, ended bool, err error) {
	r, err := rs.store.GetRecord(ctx, rs.key(kindOutcome, outcomeName(key, id)))
	if errors.Is(err, store.ErrNotFound) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	if err = decode(r, &o); err == nil && o.Output == nil && o.Result != nil {
		o.Output = o.Result.StructuredOutput
	}
	return o, true, err
}
