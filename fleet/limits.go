package fleet

import (
	"context"
	"fmt"
	"math"
)

// ConversationLimits are the limits of a conversation. A zero field means the value of
// the field with the same name in [Options].
type ConversationLimits struct {
	BudgetUSD    float64
	Rate         Rate
	MaxMemory    int64
	MaxProcesses int
}

// check refuses limits that mean nothing.
func (l *ConversationLimits) check() error {
	switch {
	case l.BudgetUSD < 0 || math.IsNaN(l.BudgetUSD):
		return fmt.Errorf("BudgetUSD: %v is not a budget", l.BudgetUSD)
	case !l.Rate.valid():
		return fmt.Errorf("Rate: %v is not a rate", l.Rate)
	case l.MaxMemory < 0:
		return fmt.Errorf("MaxMemory: %d is negative", l.MaxMemory)
	case l.MaxProcesses < 0:
		return fmt.Errorf("MaxProcesses: %d is negative", l.MaxProcesses)
	}
	return nil
}

// budgets decides what a conversation may use, and whether it may spend any more.
type budgets struct {
	opts *Options
	days *days // nil without a budget for a day
}

// limits returns the limits of a conversation.
func (b *budgets) limits(key string) (ConversationLimits, error) {
	o := b.opts
	l := ConversationLimits{o.BudgetUSD, o.Rate, o.MaxMemory, o.MaxProcesses}
	if o.LimitsOf == nil {
		return l, nil
	}
	own := o.LimitsOf(key)
	if err := own.check(); err != nil {
		return l, &ConversationError{key, fmt.Errorf("Options.LimitsOf: %w", err)}
	}
	if own.BudgetUSD != 0 {
		l.BudgetUSD = own.BudgetUSD
	}
	if own.Rate != (Rate{}) {
		l.Rate = own.Rate
	}
	if own.MaxMemory != 0 {
		l.MaxMemory = own.MaxMemory
	}
	if own.MaxProcesses != 0 {
		l.MaxProcesses = own.MaxProcesses
	}
	return l, nil
}

// budget returns an error if a conversation has cost as much as it may, or if the budget
// of the day is spent.
func (b *budgets) budget(ctx context.Context, rec *record) error {
	l, err := b.limits(rec.Key)
	if err != nil {
		return err
	}
	if l.BudgetUSD > 0 && rec.Cost.USD >= l.BudgetUSD {
		return &BudgetError{Key: rec.Key, CostUSD: rec.Cost.USD, OfUSD: l.BudgetUSD}
	}
	return b.days.allow(ctx, rec.Key)
}
