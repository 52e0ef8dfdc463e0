package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// The end of a prompt is four changes in the store, made at once: its cost, its outcome, a
// mark for the log of outcomes, and its removal from the queue.

// refused reports whether a change was not made because something else was changed since
// it was read: reading it again helps.
func refused(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
}

// end gives a prompt its outcome and removes it from the queue. If it has an outcome and
// is still there, that outcome counts.
func (rs *records) end(ctx context.Context, key string, p *queued, o Ticket, fence store.Fence) error {
	o.Prompt = p.ID
	if _, err := rs.endAtOnce(ctx, key, p, o, fence); !refused(err) {
		return err
	}
	return rs.endAgain(ctx, key, p, &o, fence, true)
}

// endAtOnce is end together with other changes, which come first. It is refused if the
// prompt has an outcome, or was changed since it was read.
func (rs *records) endAtOnce(ctx context.Context, key string, p *queued, o Ticket, fence store.Fence, others ...store.RecordChange) ([]int64, error) {
	outcome, mark, drop, err := rs.ending(key, p, &o, fence)
	if err != nil {
		return nil, err
	}
	return rs.store.Change(ctx, fence, append(others, outcome, mark, drop)...)
}

// ending returns the changes that end a prompt.
func (rs *records) ending(key string, p *queued, o *Ticket, fence store.Fence) (outcome, mark, drop store.RecordChange, err error) {
	short := *o
	short.shorten()
	if outcome, err = rs.changeTo(kindOutcome, outcomeName(key, p.ID), &short, 0); err == nil {
		mark, err = rs.markEnded(key, &short, fence)
	}
	return outcome, mark, store.RecordChange{Key: rs.key(kindPrompt, p.name), Drop: true, Revision: p.revision}, err
}

// outcomeName is the name of the outcome of a prompt.
func outcomeName(key, id string) string { return place(key) + "/" + id }

// dropEnded removes a prompt that has its outcome from the queue.
func (rs *records) dropEnded(ctx context.Context, key string, p *queued, o *Ticket, fence store.Fence) error {
	return rs.endAgain(ctx, key, p, o, fence, false)
}

// endAgain makes the remaining changes that end a prompt, and writes its outcome only if
// that is missing. It reads what there is, again and again until no other writer has
// changed anything in between. The process that took the prompt out of the queue has
// marked it.
func (rs *records) endAgain(ctx context.Context, key string, p *queued, o *Ticket, fence store.Fence, missing bool) error {
	outcome, mark, drop, err := rs.ending(key, p, o, fence)
	if err != nil {
		return err
	}
	for {
		there, err := rs.store.View(ctx, store.View{Keys: []store.RecordKey{outcome.Key, mark.Key, drop.Key}})
		if err != nil {
			return fmt.Errorf("claude: fleet: end prompt %s: %w", p.ID, err)
		}
		revisions := make(map[store.RecordKey]int64)
		for _, r := range there {
			revisions[r.Key] = r.Revision
		}
		var changes []store.RecordChange
		if missing && revisions[outcome.Key] == 0 {
			changes = append(changes, outcome)
		}
		if drop.Revision = revisions[drop.Key]; drop.Revision != 0 {
			changes = append(changes, drop)
		}
		if len(changes) == 0 {
			return nil
		}
		if revisions[mark.Key] == 0 {
			changes = append(changes, mark)
		}
		if _, err = rs.store.Change(ctx, fence, changes...); !refused(err) {
			return err
		}
	}
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
	r, err := store.Get(ctx, rs.store, rs.key(kindOutcome, outcomeName(key, id)))
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
