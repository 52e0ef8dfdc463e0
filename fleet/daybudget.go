package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/store"
)

// dayBudgets are the amounts that a fleet and its tenants may spend on a day.
type dayBudgets struct {
	fleet, tenant float64                     // 0: no limit
	of            func(tenant string) float64 // the budgets of single tenants, nil: all have the same
}

// check refuses budgets that mean nothing.
func (b *dayBudgets) check() error {
	for name, usd := range map[string]float64{"DayBudgetUSD": b.fleet, "TenantDayBudgetUSD": b.tenant} {
		if usd < 0 || math.IsNaN(usd) {
			return fmt.Errorf("%s: %v is not a budget", name, usd)
		}
	}
	return nil
}

// any reports whether there is a budget, so that spending must be counted.
func (b *dayBudgets) any() bool { return b.fleet > 0 || b.tenant > 0 || b.of != nil }

// ofTenant returns the budget of a tenant, 0 if it has none.
func (b *dayBudgets) ofTenant(tenant string) (usd float64, err error) {
	if b.of != nil {
		usd = b.of(tenant)
	}
	if usd < 0 || math.IsNaN(usd) {
		return 0, fmt.Errorf("Options.TenantDayBudgetOf: %v is not a budget", usd)
	}
	if usd == 0 {
		usd = b.tenant
	}
	return usd, nil
}

// spent returns a [*BudgetError] if a conversation may spend nothing more today.
func (b *dayBudgets) spent(key string, s dayspend.Spent) error {
	if tenant := TenantOf(key); tenant != "" {
		usd, err := b.ofTenant(tenant)
		if err != nil {
			return &ConversationError{key, err}
		}
		if cost := s.TenantUSD; usd > 0 && cost >= usd {
			return &BudgetError{Tenant: tenant, CostUSD: cost, OfUSD: usd, Resets: s.Day.Ends()}
		}
	}
	if b.fleet > 0 && s.USD >= b.fleet {
		return &BudgetError{CostUSD: s.USD, OfUSD: b.fleet, Resets: s.Day.Ends()}
	}
	return nil
}

// days holds the daily budgets and the sums spent so far. Nil: there are no such budgets.
type days struct {
	dayBudgets
	book  *dayspend.Book
	clock *clock
	store *announcer
	held  heldToday
}

// newDays returns nil if there are no daily budgets. Reading ends with ctx.
func newDays(ctx context.Context, o *Options, a *announcer, c *clock) *days {
	d := &days{dayBudgets: o.dayBudgets(), clock: c, store: a}
	if !d.any() {
		return nil
	}
	below := func(folder string) iter.Seq2[store.Record, error] {
		return boundSeq(bounds{o.StoreTimeout}, ctx, func(ctx context.Context) iter.Seq2[store.Record, error] {
			return a.Scan(ctx, store.Folder{Project: o.Project, Kind: dayspend.Kind, Name: folder}, "")
		})
	}
	d.book = dayspend.New(a, o.Project, below, func(name string, err error) {
		o.Logger.Warn("what a conversation has cost on a day cannot be read, and does not count", "record", name, "error", err)
	})
	return d
}

// errUncounted means that the store cannot provide what was spent. Then nothing begins.
var errUncounted = errors.New("what was spent today is not known")

// allow returns an error if a conversation may spend nothing more today, or errUncounted.
func (d *days) allow(ctx context.Context, key string) error {
	if d == nil {
		return nil
	}
	now, err := d.clock.about(ctx, d.store)
	if err == nil {
		var s dayspend.Spent
		if s, err = d.book.Spent(ctx, dayspend.Of(now), TenantOf(key)); err == nil {
			return d.spent(key, s)
		}
	}
	if errors.Is(err, store.ErrNewer) {
		err = errors.New(err.Error()) // it is not the conversation that is newer, and it must be tried again
	}
	return &ConversationError{key, fmt.Errorf("%w: %w", errUncounted, err)}
}

// charge notes in the record of a conversation what it costs today, and returns the
// change of records that goes with it; nil if there is none.
func (d *days) charge(ctx context.Context, rec *record, usd float64) (*store.RecordChange, error) {
	if d == nil || usd <= 0 {
		return nil, nil
	}
	now, err := d.clock.about(ctx, d.store)
	if err != nil {
		return nil, err
	}
	rec.Today = rec.Today.Plus(dayspend.Of(now), usd)
	c, err := d.book.Change(ctx, place(rec.Key), rec.Created, rec.Today)
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// charged notes that a charge is stored.
func (d *days) charged(rec *record, usd float64) {
	if d != nil && usd > 0 {
		d.book.Note(place(rec.Key), rec.Created, rec.Today)
	}
}

// heldToday are conversations whose prompts wait for the next day, and when that
// begins.
type heldToday struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// add notes a conversation, if err means that the budget of its day is spent.
func (h *heldToday) add(key string, err error) {
	spent, ok := errors.AsType[*BudgetError](err)
	if !ok || spent.Resets.IsZero() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until = make(map[string]time.Time)
	}
	h.until[key] = spent.Resets
}

// all returns the conversations, and when their days end.
func (h *heldToday) all() map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.until)
}

// drop forgets a conversation, unless it was noted again since for another day.
func (h *heldToday) drop(key string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until[key].Equal(until) {
		delete(h.until, key)
	}
}

// hold notes a conversation that must wait for the next day, if err means that.
func (d *days) hold(key string, err error) {
	if d != nil {
		d.held.add(key, err)
	}
}

// release forgets and returns the conversations whose day is over, and those that may spend
// more on the same day: their budget was raised, or the sum is less than it was.
func (d *days) release(ctx context.Context, now time.Time) (keys []string) {
	for key, until := range d.held.all() {
		if !now.Before(until) || d.allow(ctx, key) == nil {
			d.held.drop(key, until)
			keys = append(keys, key)
		}
	}
	return keys
}

// keepDays is how long the sums of days are kept: longer than clocks differ.
const keepDays = 48 * time.Hour
