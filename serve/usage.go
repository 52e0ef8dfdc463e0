package serve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// rowsOf returns the sums of a day: one row, or one for each model.
func rowsOf(d *eventlog.DaySum, day string, n *note, byModel bool) []api.UsageRow {
	total := api.UsageRow{Day: day, User: n.Owner, Preset: n.Preset, Turns: d.Turns, CostUSD: d.CostUSD}
	var rows []api.UsageRow
	for _, model := range slices.Sorted(maps.Keys(d.Models)) {
		m := d.Models[model]
		rows = append(rows, api.UsageRow{
			Day: day, User: n.Owner, Preset: n.Preset, Model: model, Turns: m.Turns, CostUSD: m.CostUSD, Input: m.Input, Output: m.Output, Cached: m.Cached,
		})
		total.Input, total.Output, total.Cached = total.Input+m.Input, total.Output+m.Output, total.Cached+m.Cached
	}
	if byModel {
		return rows
	}
	return []api.UsageRow{total}
}

// overBudgetOf returns the turns of a conversation that were over budget on a day.
func overBudgetOf(d *eventlog.DaySum, n *note) []api.OverBudget {
	c := n.conversation()
	var all []api.OverBudget
	for _, t := range d.Over {
		all = append(all, api.OverBudget{
			Conversation: c.ID, Title: c.Title, User: n.Owner, Preset: n.Preset, Prompt: t.Prompt, Ended: t.Ended, CostUSD: t.CostUSD,
		})
	}
	return all
}

// spendings sums up the costs of conversations.
type spendings struct {
	fleet   fleet.Conversations
	notes   noteStore
	book    eventlog.Store
	records store.Records
	project string
	presets []Preset
}

// held returns the conversations that the user may see and whose prompts wait because
// the budget is spent, in the order of their ids.
func (sp *spendings) held(ctx context.Context, u api.User) ([]api.Held, error) {
	all := []api.Held{}
	for info, err := range sp.fleet.List(ctx) {
		if err != nil {
			return all, err
		}
		if info.State != fleet.StateHeld {
			continue
		}
		n, _, err := sp.notes.loadAny(ctx, info.Key)
		if errors.Is(err, store.ErrNotFound) { // not begun here
			n, err = note{Key: info.Key}, nil
		}
		if err != nil {
			return all, err
		}
		if !n.Deleted.IsZero() || !n.visible(u) {
			continue
		}
		c := n.conversation()
		all = append(all, api.Held{
			Conversation: c.ID, Title: c.Title, User: n.Owner, Preset: n.Preset,
			Queued: info.Queued, CostUSD: info.Cost.USD, BudgetUSD: info.BudgetUSD,
		})
	}
	return all, nil
}

// spent calls do with the days of all conversations whose notes are selected, including
// those that are deleted or about to be. For deleted ones it begins at a day.
func (sp *spendings) spent(ctx context.Context, from string, selects func(*note) bool, do func(n *note, day string, d *eventlog.DaySum)) error {
	known, sums := make(map[string]bool), newTally(do)
	one := func(n *note) error {
		known[n.Key] = true
		if !selects(n) {
			return nil
		}
		head, _, err := sp.book.Head(ctx, n.Key)
		if err == nil {
			sums.add(n, &head)
		}
		return err
	}
	for n, err := range sp.notes.each(ctx) {
		if err == nil {
			err = one(&n)
		}
		if err != nil {
			return err
		}
	}
	for info, err := range sp.fleet.List(ctx) {
		if err == nil && !known[info.Key] { // not begun here
			err = one(&note{Key: info.Key, Created: info.Created})
		}
		if err != nil {
			return err
		}
	}
	return sums.addDeleted(ctx, sp.records, sp.project, from, selects)
}

// firstDay returns the first day that a query selects, empty if it has no limit.
func firstDay(q *api.UsageQuery) string {
	if q.From.IsZero() {
		return ""
	}
	return q.From.UTC().Format(time.DateOnly)
}

// selectsDay reports whether a query selects a day.
func selectsDay(q *api.UsageQuery, day string) bool {
	at, err := time.Parse(time.DateOnly, day)
	return err == nil && (q.From.IsZero() || !at.Before(q.From.UTC().Truncate(24*time.Hour))) && (q.To.IsZero() || at.Before(q.To))
}

// groupOf returns a row with only the members by which a query groups.
func groupOf(q *api.UsageQuery, r *api.UsageRow) api.UsageRow {
	var name api.UsageRow
	for _, by := range q.By {
		switch by {
		case api.ByDay:
			name.Day = r.Day
		case api.ByUser:
			name.User = r.User
		case api.ByPreset:
			name.Preset = r.Preset
		case api.ByModel:
			name.Model = r.Model
		}
	}
	return name
}

func addRow(r, o *api.UsageRow) {
	r.Turns += o.Turns
	r.CostUSD += o.CostUSD
	r.Input += o.Input
	r.Output += o.Output
	r.Cached += o.Cached
}

// checkBudget refuses a prompt if the conversations of its preset have spent their
// budget of the day. Prompts that were accepted earlier still run.
func (sp *spendings) checkBudget(ctx context.Context, n *note) error {
	p := find(sp.presets, n.Preset)
	if p == nil || p.DailyUSD == 0 {
		return nil
	}
	now, err := sp.records.Now(ctx)
	if err != nil {
		return err
	}
	now = now.UTC()
	today, usd := now.Format(time.DateOnly), 0.0
	err = sp.spent(ctx, today, func(n *note) bool { return n.Preset == p.Name }, func(_ *note, day string, d *eventlog.DaySum) {
		if day == today {
			usd += d.CostUSD
		}
	})
	if err != nil || usd < p.DailyUSD {
		return err
	}
	problem := budget.because("the preset %q has spent $%.2f of its $%.2f; send it again after midnight UTC, with the same id", p.Name, usd, p.DailyUSD)
	problem.RetryAfter = int(now.Truncate(24*time.Hour).Add(24*time.Hour).Sub(now)/time.Second) + 1
	return problem
}
