package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A call that was let go and may be repeated is not repeated once its prompt was
// cancelled, and its question does not stay in the inbox: its outcome is unknown.
func TestCancelReleasedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cancelling{db: store.Memory(), cli: new(scripted)}
		var runs atomic.Int64
		c.cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Model: c.cli.reply,
			Tools: map[string]host.RunFunc{"Bash": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
				if runs.Add(1) == 1 {
					<-ctx.Done() // until the CLI is killed
				}
				return host.TextOutput("built"), ctx.Err()
			}},
		})
		c.repeatable = func(*hook.PreToolUseInput) bool { return true }
		c.start(t)
		c.prompt = send(t, c.m.fleet, "ada", "tool 1")
		<-time.After(5 * time.Minute) // until the call is deferred
		q := question(t, c.m.fleet)
		decide(t, c.m.fleet, q, permission.Allow())
		<-time.After(time.Second)
		if runs.Load() != 1 {
			t.Fatalf("the tool ran %d times", runs.Load())
		}
		crash(t, c.m)
		c.broken.Store(true)
		c.start(t)
		defer func() { closeFleet(t, c.m.fleet) }()
		<-time.After(5*time.Minute + time.Millisecond)
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptStuck {
			t.Fatalf("not stuck: %+v", o)
		}
		c.broken.Store(false)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
		if q, err := c.m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || q.State != approval.StateSettled || q.Outcome != approval.OutcomeUnknown {
			t.Errorf("the question is %s %s, %v", q.State, q.Outcome, err)
		}
		if got := ask(t, c.m.fleet, "ada", "more"); !strings.HasSuffix(got, "more") || runs.Load() != 1 {
			t.Errorf("answer %q, the tool ran %d times", got, runs.Load())
		}
	})
}

// A process that cancels a prompt and is slow to clean up does not end questions that
// are asked meanwhile: another process has cleaned up, and the question is that of the
// next prompt, whether its CLI waits or the call is deferred.
func TestCancelSlowly(t *testing.T) {
	for name, wait := range map[string]time.Duration{"its CLI waits": 30 * time.Second, "it is deferred": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCancelling(t, true)
				defer func() { closeFleet(t, c.m.fleet) }()
				other := &interceptor{Fleet: c.db}
				client := open(t, other, nil, withoutCLIs)
				defer closeFleet(t, client)
				marked, proceed := make(chan struct{}), make(chan struct{})
				var once sync.Once
				other.set(nil, func(k store.RecordKey, _ []byte) error {
					once.Do(func() {
						close(marked)
						<-proceed
					})
					return nil
				})
				cancelled := make(chan error)
				go func() { cancelled <- client.Cancel(t.Context(), "ada", c.prompt) }()
				<-marked
				c.broken.Store(false)
				close(c.hold)
				<-time.After(15 * time.Second) // until a process looks at the store
				next := send(t, c.m.fleet, "ada", "tool 1")
				<-time.After(wait)
				q := question(t, c.m.fleet)
				if q.Deferred != (wait > time.Minute) {
					t.Fatalf("the question is %+v", q)
				}
				close(proceed)
				if err := <-cancelled; err != nil {
					t.Errorf("cancelled: %v", err)
				}
				decide(t, c.m.fleet, question(t, c.m.fleet), permission.Allow())
				<-time.After(time.Minute)
				if o := outcome(t, c.m.fleet, "ada", next); o.Status != fleet.PromptAnswered || o.Text != "It says: built" {
					t.Errorf("the next prompt: %+v", o)
				}
				if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptCancelled || c.records(t, "prompt") != 0 {
					t.Errorf("the prompt that was cancelled: %+v", o)
				}
			})
		})
	}
}

// A prompt can be cancelled while another process has the lease of its conversation:
// that one cleans up.
func TestCancelWhileLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, true)
		defer func() { closeFleet(t, c.m.fleet) }()
		lease, err := c.db.Acquire(t.Context(), "p", "fleet/c/ada", "another", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptCancelled || c.records(t, "prompt") != 1 {
			t.Errorf("%+v, and the store has %d prompts", o, c.records(t, "prompt"))
		}
		if err := c.db.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		c.broken.Store(false)
		close(c.hold)
		<-time.After(time.Minute)
		c.check(t)
	})
}

// Before it has the lease of a conversation, a process that cancels a prompt which has
// begun may know an old state of it: the state of the store under the lease counts.
func TestCancelKnowsTheLastCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, true)
		defer func() { closeFleet(t, c.m.fleet) }()
		spent := func(k store.RecordKey, _ []byte) error {
			if k.Kind != "prompt" {
				return nil
			}
			c.store.set(nil, nil) // it is marked now, and the lease is free
			r, err := store.Get(t.Context(), c.db, store.RecordKey{Project: "p", Kind: "conversation", Name: "c/ada"})
			if err != nil {
				return err
			}
			var rec map[string]any
			if err := json.Unmarshal(r.Value, &rec); err != nil {
				return err
			}
			rec["spent"] = map[string]any{c.prompt: map[string]any{"usd": 1.5, "turns": 1}}
			value, err := json.Marshal(rec)
			if err == nil {
				_, err = store.Put(t.Context(), c.db, r.Key, value, r.Revision, store.Fence{})
			}
			return err
		}
		c.store.set(nil, spent)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptCancelled || o.Cost.USD != 1.5 || o.Cost.Turns != 1 {
			t.Errorf("cancelled: %+v", o)
		}
		close(c.hold)
	})
}

// A store that cannot give out leases does not keep a prompt from being cancelled; the
// caller learns that something is left to do, and the fleet does it.
func TestCancelWithoutLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, true)
		defer func() { closeFleet(t, c.m.fleet) }()
		fails := func(fails bool) {
			c.m.mu.Lock()
			defer c.m.mu.Unlock()
			c.m.failing = func(method string) bool { return fails && method == "Acquire" }
		}
		fails(true)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err == nil || errors.Is(err, fleet.ErrBegun) {
			t.Errorf("cancelled: %v", err)
		}
		fails(false)
		c.broken.Store(false)
		close(c.hold)
		<-time.After(time.Minute)
		c.check(t)
	})
}
