package serve

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// spending is the cost of a deleted conversation on a day, with its owner and preset.
// Nothing else is left of it, not even its id: the name of the record is the day and a
// digest.
type spending struct {
	Owner  string          `json:"owner,omitzero"`
	Preset string          `json:"preset,omitzero"`
	Sum    eventlog.DaySum `json:"sum"`
}

// spendingName names the records of a conversation. A conversation that is begun again
// under the same key has another name.
func (n *note) spendingName() string {
	return digest("spent", n.Key, n.Created.UTC().Format(time.RFC3339Nano))
}

// keepSpending records the cost of a conversation before its log is removed. It is
// idempotent, because a log that is being deleted does not change.
func (er *eraser) keepSpending(ctx context.Context, key string) error {
	n, _, err := er.notes.loadAny(ctx, key)
	if errors.Is(err, store.ErrNotFound) { // another process has finished
		return nil
	}
	if err != nil {
		return err
	}
	head, _, err := er.book.Head(ctx, key)
	if err != nil {
		return err
	}
	for day, sum := range head.AllDays() {
		sum.Over = nil // it names prompts
		at := store.RecordKey{Project: er.project, Kind: kindSpent, Name: day + "/" + n.spendingName()}
		_, err := recordio.Put(ctx, er.records, at, &spending{n.Owner, n.Preset, sum}, 0)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// tally sums up the cost of conversations, each once, even if some are deleted
// meanwhile. It reads the conversations with a log first, then the records of deleted
// ones: such a record is written before its log goes.
type tally struct {
	seen map[string]bool // the spendingNames of those with a log
	do   func(n *note, day string, d *eventlog.DaySum)
}

func newTally(do func(n *note, day string, d *eventlog.DaySum)) *tally {
	return &tally{make(map[string]bool), do}
}

// add counts a conversation that has a log.
func (t *tally) add(n *note, h *eventlog.Head) {
	days := h.AllDays()
	if len(days) == 0 { // its log may just have been removed
		return
	}
	t.seen[n.spendingName()] = true
	for day, sum := range days {
		t.do(n, day, &sum)
	}
}

// addDeleted counts the cost of deleted conversations from a day on, if selects accepts
// their owner and preset, which is all that is known about them.
func (t *tally) addDeleted(ctx context.Context, records store.Records, project, from string, selects func(*note) bool) error {
	for r, err := range records.Scan(ctx, store.Folder{Project: project, Kind: kindSpent}, from) {
		var spent spending
		if err == nil {
			err = recordio.Decode(r, &spent)
		}
		if err != nil {
			return err
		}
		day, name := path.Split(r.Key.Name)
		n := note{Owner: spent.Owner, Preset: spent.Preset}
		if !t.seen[name] && selects(&n) {
			t.do(&n, path.Clean(day), &spent.Sum)
		}
	}
	return nil
}

// closeBooks asks the fleet for the unbooked cost of a conversation that it is about to
// delete, and keeps it in the head of the log. The answer to an earlier attempt stays
// if the fleet no longer knows.
func (er *eraser) closeBooks(ctx context.Context, key, by string, unprompted fleet.Ledger, now time.Time) error {
	head, _, err := er.book.Head(ctx, key)
	if err != nil {
		return err
	}
	ids := head.OpenAfter(head.Events)
	for i := range head.Accepting {
		ids = append(ids, head.Accepting[i].Prompt.ID)
	}
	slices.Sort(ids)
	var turns []api.Turn
	for _, id := range slices.Compact(ids) {
		t, err := er.fleet.Prompt(ctx, key, id)
		switch {
		case overWith(err):
		case err != nil:
			return err
		case t.Cost.Turns > 0:
			at := t.Ended
			if at.IsZero() {
				at = now
			}
			turns = append(turns, api.Turn{Prompt: id, CostUSD: t.Cost.USD, Models: eventlog.ModelsOf(t.Cost.Models), PartOf: t.PartOf, Ended: at.UTC()})
		}
	}
	if len(turns) == 0 && unprompted.Turns <= head.Unprompted.Turns {
		return nil
	}
	return er.book.ChangeErasing(ctx, key, by, func(e *eventlog.Erasure) *eventlog.Erasure {
		next := e.PassTo(by, e.Until)
		next.Unbooked = e.Unbooked.With(turns, unprompted, now)
		return next
	})
}
