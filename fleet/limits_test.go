package fleet_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A conversation that has cost as much as it may is held: prompts that wait do
// not begin, new ones are refused, others are not affected. A larger budget lets
// it continue.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.BudgetUSD = 1e-9 })
		cli.hold = make(chan struct{})
		first := send(t, f, "ada", "one")
		ended := make(chan error, 1)
		go func() {
			_, err := result(f.Run(t.Context(), "ada", "two"))
			ended <- err
		}()
		synctest.Wait()
		close(cli.hold)
		<-time.After(5 * time.Minute)
		held := <-ended
		if o := outcome(t, f, "ada", first); o.Status != fleet.PromptAnswered {
			t.Errorf("the first prompt: %+v", o)
		}
		spent, ok := errors.AsType[*fleet.BudgetError](held)
		if !ok || !errors.Is(held, fleet.ErrBudget) || spent.CostUSD < spent.OfUSD || spent.Key != "ada" {
			t.Errorf("the second prompt: %v", held)
		}
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "three"}); !errors.Is(err, fleet.ErrBudget) {
			t.Errorf("sent: %v", err)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateHeld || info.Queued != 1 || info.BudgetUSD != spent.OfUSD {
			t.Errorf("%+v, %v", info, err)
		}
		if live, _ := cli.counts(); live != 0 {
			t.Errorf("%d CLIs run", live)
		}
		if got := ask(t, f, "bob", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
		closeFleet(t, f)
		f = open(t, db, cli, func(o *fleet.Options) { o.BudgetUSD = 1000 })
		defer closeFleet(t, f)
		<-time.After(time.Minute)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 0 || info.Cost.Turns != 2 {
			t.Errorf("with a larger budget: %+v, %v", info, err)
		}
	})
}

// Prompts that come too fast are refused, with how long to wait; after that time
// they are accepted.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			o.Rate = fleet.Rate{Prompts: 3, Per: time.Minute}
			o.TenantRate = fleet.Rate{Prompts: 4, Per: time.Minute}
		})
		defer closeFleet(t, f)
		try := func(key string) error {
			_, err := f.Send(t.Context(), key, fleet.Prompt{Text: "x"})
			return err
		}
		for range 3 {
			if err := try("acme/a"); err != nil {
				t.Fatal(err)
			}
		}
		full, ok := errors.AsType[*fleet.OverloadedError](try("acme/a"))
		if !ok || full.Key != "acme/a" || full.Wait != 20*time.Second || !strings.Contains(full.Error(), "too fast") {
			t.Fatalf("the fourth prompt of a conversation: %+v", full)
		}
		if err := try("acme/b"); err != nil {
			t.Fatal(err)
		}
		shared, ok := errors.AsType[*fleet.OverloadedError](try("acme/b"))
		if !ok || shared.Tenant != "acme" || shared.Wait != 15*time.Second {
			t.Errorf("the fifth prompt of a tenant: %+v", shared)
		}
		if err := try("other/a"); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		<-time.After(full.Wait - time.Second)
		if err := try("acme/a"); !errors.Is(err, fleet.ErrOverloaded) {
			t.Errorf("too early: %v", err)
		}
		<-time.After(time.Second)
		if err := try("acme/a"); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		for range 3 { // the rate of tenants does not apply to it
			if err := try("ada"); err != nil {
				t.Error(err)
			}
		}
	})
}

// Two processes take no more prompts of a tenant together than its rate allows, and a
// process that begins later knows what was taken before.
func TestTenantRateShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, rate := store.Memory(), func(o *fleet.Options) { o.TenantRate = fleet.Rate{Prompts: 6, Per: time.Minute} }
		a, b := apart(t, db, newScripted(), rate)
		defer closeFleet(t, b)
		var accepted atomic.Int32
		try := func(f *fleet.Fleet, key string) (wait time.Duration) {
			_, err := f.Send(t.Context(), key, fleet.Prompt{Text: "x"})
			if full, ok := errors.AsType[*fleet.OverloadedError](err); ok && full.Tenant == "acme" {
				return full.Wait
			}
			if err != nil {
				t.Error(err)
			}
			accepted.Add(1)
			return 0
		}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() { try([]*fleet.Fleet{a, b}[i%2], "acme/"+string(rune('a'+i%5))) })
		}
		all.Wait()
		if n := accepted.Load(); n != 6 {
			t.Errorf("%d prompts were accepted", n)
		}
		closeFleet(t, a)
		c := open(t, db, newScripted(), rate)
		defer closeFleet(t, c)
		if wait := try(c, "acme/z"); wait <= 0 || wait > 10*time.Second {
			t.Errorf("a new process waits %v", wait)
		}
		<-time.After(10 * time.Second)
		if try(c, "acme/z") != 0 || try(b, "acme/z") == 0 {
			t.Errorf("after the wait, not one but %d prompts are accepted", accepted.Load()-6)
		}
	})
}

// If the rate of a tenant cannot be counted, its prompts are refused, and others are not.
func TestTenantRateUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &failing{store.Memory(), func(_, kind string) bool { return kind == "rate" }}
		f := open(t, db, newScripted(), func(o *fleet.Options) {
			o.Rate, o.TenantRate = fleet.Rate{Prompts: 1, Per: time.Hour}, fleet.Rate{Prompts: 6, Per: time.Minute}
		})
		defer closeFleet(t, f)
		for range 2 { // the rate of the conversation does not count it
			if _, err := f.Send(t.Context(), "acme/a", fleet.Prompt{Text: "x"}); !errors.Is(err, errFailing) {
				t.Errorf("sent: %v", err)
			}
		}
		if got := ask(t, f, "ada", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
	})
}

// A prompt that its tenant sends too fast takes no room in the queues: however many are
// refused, those of others are accepted.
func TestRefusedPromptsTakeNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queued atomic.Int64
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			o.TenantRate, o.Queue, o.QueueAll = fleet.Rate{Prompts: 1, Per: time.Minute}, 2, 3
			o.Trace = &fleet.PromptTrace{Load: func(l fleet.TraceLoad) { queued.Store(int64(l.Queued)) }}
		})
		defer closeFleet(t, f)
		ask(t, f, "acme/a", "hello")
		for range 5 {
			_, err := f.Send(t.Context(), "acme/a", fleet.Prompt{Text: "x"})
			if refused, ok := errors.AsType[*fleet.OverloadedError](err); !ok || refused.Tenant != "acme" {
				t.Errorf("sent: %v", err)
			}
		}
		if n := queued.Load(); n != 0 {
			t.Errorf("%d prompts wait", n)
		}
		if got := ask(t, f, "other/a", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
		<-time.After(time.Minute)
		if got := ask(t, f, "acme/a", "again"); got != "heard hello, again" {
			t.Errorf("answer %q", got)
		}
	})
}

// A prompt that is refused because its tenant sends too fast does not count against its
// conversation: its rate counts accepted prompts.
func TestRefusedPromptsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			o.Rate = fleet.Rate{Prompts: 2, Per: time.Hour}
			o.TenantRate = fleet.Rate{Prompts: 1, Per: time.Minute}
		})
		defer closeFleet(t, f)
		for n, want := range []string{"", "acme", "acme", ""} {
			if n == 3 {
				<-time.After(time.Minute)
			}
			_, err := f.Send(t.Context(), "acme/a", fleet.Prompt{Text: "x"})
			if refused, ok := errors.AsType[*fleet.OverloadedError](err); ok != (want != "") || ok && refused.Tenant != want {
				t.Errorf("prompt %d: %v", n, err)
			}
		}
	})
}

// Limits that mean nothing are refused at Open.
func TestBadLimits(t *testing.T) {
	for name, change := range map[string]func(*fleet.Options){
		"BudgetUSD":          func(o *fleet.Options) { o.BudgetUSD = -1 },
		"MaxMemory":          func(o *fleet.Options) { o.MaxMemory = -1 },
		"MaxProcesses":       func(o *fleet.Options) { o.MaxProcesses = -1 },
		"DayBudgetUSD":       func(o *fleet.Options) { o.DayBudgetUSD = -1 },
		"TenantDayBudgetUSD": func(o *fleet.Options) { o.TenantDayBudgetUSD = math.NaN() },
		"Rate":               func(o *fleet.Options) { o.Rate.Prompts = 3 },
		"TenantRate":         func(o *fleet.Options) { o.TenantRate = fleet.Rate{Prompts: -1, Per: time.Second} },
	} {
		o := fleet.Options{Store: store.Memory(), Project: "p", Session: func(context.Context, string) (*claude.Options, error) { return nil, nil }}
		change(&o)
		if _, err := fleet.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A mode that the CLI has changed itself is the mode of the next start.
func TestModeChangedByCLI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		usual := func(o *fleet.Options) {
			o.Gate = nil
			o.Session = func(context.Context, string) (*claude.Options, error) {
				return &claude.Options{
					Transport: m, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet(),
					CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
						return permission.Allow(permission.Update{Type: permission.UpdateSetMode, Mode: permission.ModeAcceptEdits, Destination: permission.ToSession}), nil
					},
				}, nil
			}
		}
		closeFleet(t, m.fleet)
		f := open(t, db, cli, usual)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Mode != "" {
			t.Errorf("nobody has chosen a mode: %+v, %v", info, err)
		}
		ask(t, f, "ada", "tool 1")
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Mode != permission.ModeAcceptEdits {
			t.Errorf("%+v, %v", info, err)
		}
		<-time.After(5 * time.Minute)
		ask(t, f, "ada", "again")
		if !m.hasArg("acceptEdits") {
			t.Errorf("the CLI was started with %q", m.args)
		}
	})
}
