package realstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// SharedLimits shows that programs with one store have the rate of a tenant and the budgets
// of a day together. open opens the store as another program does. No CLI is needed.
func SharedLimits(t *testing.T, open func(t *testing.T) store.Fleet) {
	t.Run("rate", func(t *testing.T) { sharedRate(t, open) })
	t.Run("day", func(t *testing.T) { sharedDay(t, open) })
}

// program opens a fleet as another program does.
func program(t *testing.T, s store.Fleet, change func(*fleet.Options)) *fleet.Fleet {
	t.Helper()
	o := fleet.Options{Store: s, Journal: t.TempDir(), StoreTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	change(&o)
	f, err := fleet.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// sharedRate lets two programs take as many prompts of a tenant as they can, at once. A
// third one that begins later knows what they have taken.
func sharedRate(t *testing.T, open func(t *testing.T) store.Fleet) {
	rated := func(o *fleet.Options) {
		o.Project, o.MaxLive, o.TenantRate = "rate", fleet.NoCLIs, fleet.Rate{Prompts: 5, Per: 24 * time.Hour}
	}
	programs := []*fleet.Fleet{program(t, open(t), rated), program(t, open(t), rated)}
	var accepted, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := programs[i%2].Send(t.Context(), fmt.Sprintf("acme/%d", i%4), fleet.Prompt{Text: "x"})
			full, overloaded := errors.AsType[*fleet.OverloadedError](err)
			switch {
			case err == nil:
				accepted.Add(1)
			case overloaded && full.Tenant == "acme" && full.Wait > 0:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if accepted.Load() != 5 || refused.Load() != 15 {
		t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
	}
	later := program(t, open(t), rated)
	if _, err := later.Send(t.Context(), "acme/later", fleet.Prompt{Text: "x"}); !errors.Is(err, fleet.ErrOverloaded) {
		t.Errorf("in a program that began later: %v", err)
	}
	if _, err := later.Send(t.Context(), "other/a", fleet.Prompt{Text: "x"}); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

// sharedDay lets two programs spend, one for two conversations of which it deletes one. A
// third one knows the sum, of a tenant and of all, and refuses prompts.
func sharedDay(t *testing.T, open func(t *testing.T) store.Fleet) {
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("hello") }})
	spends := func(o *fleet.Options, keys ...string) { // only the owner of a conversation deletes it
		o.Project, o.DayBudgetUSD, o.Runs = "day", 1000, func(key string) bool { return slices.Contains(keys, key) }
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: slog.New(slog.DiscardHandler)}, nil
		}
	}
	a := program(t, open(t), func(o *fleet.Options) { spends(o, "acme/a", "acme/gone") })
	b := program(t, open(t), func(o *fleet.Options) { spends(o, "acme/b", "ada") })
	ofTenant := cost(t, a, "acme/a") + cost(t, a, "acme/gone") + cost(t, b, "acme/b")
	all := ofTenant + cost(t, b, "ada")
	if err := a.Delete(t.Context(), "acme/gone"); err != nil {
		t.Fatal(err)
	}
	poor := func(tenant, all float64) *fleet.Fleet {
		return program(t, open(t), func(o *fleet.Options) {
			o.Project, o.MaxLive, o.TenantDayBudgetUSD, o.DayBudgetUSD = "day", fleet.NoCLIs, tenant, all
		})
	}
	tenants, whole := poor(1e-9, 1000), poor(1000, 1e-9)
	spent := overDay(t, tenants, "acme/new")
	if spent.Tenant != "acme" || math.Abs(spent.CostUSD-ofTenant) > 1e-9 || !spent.Resets.After(time.Now().Add(-time.Hour)) {
		t.Errorf("the tenant: %+v, want $%v", spent, ofTenant)
	}
	if spent = overDay(t, whole, "bob"); spent.Tenant != "" || math.Abs(spent.CostUSD-all) > 1e-9 {
		t.Errorf("all: %+v, want $%v", spent, all)
	}
	if _, err := tenants.Send(t.Context(), "other/a", fleet.Prompt{Text: "hello"}); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

// cost runs a turn, and returns what it has cost.
func cost(t *testing.T, f *fleet.Fleet, key string) float64 {
	t.Helper()
	id, err := f.Send(t.Context(), key, fleet.Prompt{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.Wait(t.Context(), key, id)
	if err != nil || o.Status != fleet.PromptAnswered || o.Cost.USD <= 0 {
		t.Fatalf("%s: %+v, %v", key, o, err)
	}
	return o.Cost.USD
}

// overDay sends a prompt that the budget of the day does not allow.
func overDay(t *testing.T, f *fleet.Fleet, key string) *fleet.BudgetError {
	t.Helper()
	_, err := f.Send(t.Context(), key, fleet.Prompt{Text: "more"})
	spent, ok := errors.AsType[*fleet.BudgetError](err)
	if !ok {
		t.Fatalf("%s: %v", key, err)
	}
	return spent
}
