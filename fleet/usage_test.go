package fleet_test

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A CLI that uses more than it may is ended after its turn, even if prompts wait.
// The conversation continues with a fresh one.
func TestUsage(t *testing.T) {
	for name, change := range map[string]func(*fleet.Options){
		"memory":               func(o *fleet.Options) { o.MaxMemory = 1000 },
		"processes":            func(o *fleet.Options) { o.MaxProcesses = 10 },
		"of this conversation": func(o *fleet.Options) { o.LimitsOf = only("ada", fleet.ConversationLimits{MaxMemory: 1000}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := newScripted()
				var now atomic.Pointer[fleet.ProcessUsage]
				now.Store(&fleet.ProcessUsage{Memory: 1000, Processes: 10})
				f := open(t, store.Memory(), cli, func(o *fleet.Options) {
					o.IdleAfter = time.Hour
					o.Measure = func(*claude.Session) (fleet.ProcessUsage, error) { return *now.Load(), nil }
					change(o)
				})
				defer closeFleet(t, f)
				ask(t, f, "ada", "one")
				synctest.Wait()
				if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateAwake || info.Usage != *now.Load() {
					t.Errorf("at the limit: %+v, %v", info, err)
				}
				now.Store(&fleet.ProcessUsage{Memory: 1001, Processes: 11})
				cli.hold = make(chan struct{})
				second := send(t, f, "ada", "two")
				third := send(t, f, "ada", "three")
				synctest.Wait()
				close(cli.hold)
				synctest.Wait()
				for _, id := range []string{second, third} {
					if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
						t.Errorf("a prompt: %+v", o)
					}
				}
				if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateAsleep || info.Usage != (fleet.ProcessUsage{}) {
					t.Errorf("over the limit: %+v, %v", info, err)
				}
				if live, _ := cli.counts(); live != 0 || cli.started() != 2 {
					t.Errorf("%d CLIs run, %d were started", live, cli.started())
				}
				if got := ask(t, f, "ada", "four"); got != "heard one, two, three, four" {
					t.Errorf("answer %q", got)
				}
			})
		})
	}
}

// A CLI that grows over its limit while an agent works in the background is ended,
// although it gets no prompt. Within its limit it may work on.
func TestUsageInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.CLI = claudetest.New(
			claudetest.Delegate("general-purpose", "Count the files.", claudetest.Say("Three.").After(time.Hour)),
			claudetest.Say("An agent counts them."),
			claudetest.Say("It was cut off."),
		)
		var memory atomic.Int64
		memory.Store(1000)
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			o.MaxMemory, o.IdleAfter = 1000, time.Second
			o.Measure = func(*claude.Session) (fleet.ProcessUsage, error) {
				return fleet.ProcessUsage{Memory: memory.Load(), Processes: 1}, nil
			}
		})
		defer closeFleet(t, f)
		ask(t, f, "ada", "count")
		<-time.After(10 * time.Minute)
		if live, _ := cli.counts(); live != 1 {
			t.Fatalf("%d CLIs run while an agent works within the limit", live)
		}
		memory.Store(1001)
		<-time.After(12 * time.Second)
		if live, _ := cli.counts(); live != 0 {
			t.Errorf("%d CLIs run over the limit", live)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateAsleep {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A CLI that cannot be measured is used as before.
func TestUsageUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			o.MaxMemory = 1
			o.Measure = func(*claude.Session) (fleet.ProcessUsage, error) { return fleet.ProcessUsage{}, errors.New("no idea") }
		})
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		synctest.Wait()
		if live, _ := cli.counts(); live != 1 {
			t.Errorf("%d CLIs run", live)
		}
	})
}

// only gives one conversation limits.
func only(key string, l fleet.ConversationLimits) func(string) fleet.ConversationLimits {
	return func(k string) fleet.ConversationLimits {
		if k == key {
			return l
		}
		return fleet.ConversationLimits{}
	}
}

// A conversation may have limits of its own: larger ones, or smaller ones.
func TestLimitsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := map[string]fleet.ConversationLimits{
			"free":  {BudgetUSD: math.Inf(1), Rate: fleet.Rate{Prompts: 1000, Per: time.Second}},
			"tight": {BudgetUSD: 1e-9, Rate: fleet.Rate{Prompts: 1, Per: time.Minute}},
			"bad":   {Rate: fleet.Rate{Prompts: -1}},
		}
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			o.Rate = fleet.Rate{Prompts: 2, Per: time.Minute}
			o.LimitsOf = func(key string) fleet.ConversationLimits { return own[key] }
		})
		defer closeFleet(t, f)
		try := func(key string) error {
			_, err := result(f.Run(t.Context(), key, "x"))
			return err
		}
		for range 5 {
			if err := try("free"); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(try("usual"), try("usual"), try("tight")); err != nil {
			t.Error(err)
		}
		if err := try("usual"); !errors.Is(err, fleet.ErrOverloaded) {
			t.Errorf("a third prompt of the usual one: %v", err)
		}
		if err := try("tight"); !errors.Is(err, fleet.ErrBudget) {
			t.Errorf("a second prompt of the tight one: %v", err)
		}
		if err := try("bad"); err == nil || !strings.Contains(err.Error(), "LimitsOf: Rate") {
			t.Errorf("limits that mean nothing: %v", err)
		}
	})
}
