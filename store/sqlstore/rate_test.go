package sqlstore_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// Two programs with one SQLite file take no more prompts of a tenant together than its
// rate allows.
func TestTenantRateOfTwoPrograms(t *testing.T) {
	source := "sqlite:" + filepath.Join(t.TempDir(), "agents.db")
	var programs []*fleet.Fleet
	for range 2 {
		db, err := sqlstore.Open(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		f, err := fleet.Open(t.Context(), fleet.Options{
			Store: db, Project: "p", MaxLive: fleet.NoCLIs, StoreTimeout: time.Minute,
			TenantRate: fleet.Rate{Prompts: 5, Per: 24 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close(t.Context())
		programs = append(programs, f)
	}
	var accepted, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := programs[i%2].Send(t.Context(), "acme/"+string(rune('a'+i%4)), fleet.Prompt{Text: "x"})
			switch {
			case err == nil:
				accepted.Add(1)
			case errors.Is(err, fleet.ErrOverloaded):
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
}

// Two programs with one SQLite file share the budget of a day.
func TestDayBudgetOfTwoPrograms(t *testing.T) {
	source := "sqlite:" + filepath.Join(t.TempDir(), "agents.db")
	program := func(usd float64) *fleet.Fleet {
		db := open(t, source)
		f, err := fleet.Open(t.Context(), fleet.Options{
			Store: db, Project: "p", Journal: t.TempDir(), TenantDayBudgetUSD: usd, Logger: slog.New(slog.DiscardHandler),
			Session: func(context.Context, string) (*claude.Options, error) {
				return &claude.Options{Transport: claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("hello") }}), Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: slog.New(slog.DiscardHandler)}, nil
			},
		})
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
	spends, watches := program(1000), program(1e-9)
	id, err := spends.Send(t.Context(), "acme/a", fleet.Prompt{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := spends.Wait(t.Context(), "acme/a", id)
	if err != nil || ticket.Cost.USD <= 0 {
		t.Fatalf("%+v, %v", ticket, err)
	}
	_, err = watches.Send(t.Context(), "acme/b", fleet.Prompt{Text: "hello"})
	spent, ok := errors.AsType[*fleet.BudgetError](err)
	if !ok || spent.Tenant != "acme" || math.Abs(spent.CostUSD-ticket.Cost.USD) > 1e-12 {
		t.Errorf("%v, of $%v", err, ticket.Cost.USD)
	}
}
