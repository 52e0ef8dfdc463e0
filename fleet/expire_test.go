package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// shortLived lets questions live for a while.
func shortLived(d time.Duration) func(*fleet.Options) {
	return func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Minute, Lifetime: d} }
}

// A question that is not decided in time ends the prompt that waits for it, when its
// time is over: once, without a CLI, in any process, or in the next that opens. The
// prompt behind it is answered, and the call is never made.
func TestExpiredEndsPrompt(t *testing.T) {
	for _, who := range []string{"the process that asked", "two processes", "another process", "nobody until the next opens"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				m := start(t, db, cli, shortLived(10*time.Minute))
				waits := deferredBy(t, m.fleet, "ada", "tool 1")
				q := question(t, m.fleet)
				switch who {
				case "two processes":
					other := start(t, db, cli, shortLived(10*time.Minute))
					defer closeFleet(t, other.fleet)
				case "another process":
					other := start(t, db, cli, shortLived(10*time.Minute))
					crash(t, m)
					m = other
				case "nobody until the next opens":
					closeFleet(t, m.fleet)
				}
				<-time.After(time.Until(q.Deadline) - time.Second)
				if who == "nobody until the next opens" {
					<-time.After(time.Hour)
					m = start(t, db, cli, shortLived(10*time.Minute))
				} else if o := outcome(t, m.fleet, "ada", waits.Prompt); o.Status != fleet.PromptWaiting {
					t.Errorf("a second before the deadline: %+v", o)
				}
				defer func() { closeFleet(t, m.fleet) }()
				asked := len(cli.calls)
				<-time.After(3 * time.Second)
				o := outcome(t, m.fleet, "ada", waits.Prompt)
				if o.Status != fleet.PromptExpired || o.Question != q.ID || o.Error == "" || o.Ended.Before(q.Deadline) {
					t.Errorf("two seconds after the deadline: %+v", o)
				}
				if live, _ := m.counts(); live != 0 || len(cli.calls) != asked {
					t.Errorf("%d CLIs run, the model was asked %q", live, cli.calls[asked:])
				}
				_, err := m.fleet.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
				if !errors.Is(err, approval.ErrGone) {
					t.Errorf("decided: %v", err)
				}
				if got := ask(t, m.fleet, "ada", "more"); !strings.HasSuffix(got, "more") || len(cli.tools) != 0 {
					t.Errorf("the next prompt: %q, the tool ran with %q", got, cli.tools)
				}
			})
		})
	}
}

// While a process waits for a decision, the model reads that no person decided in time,
// and the turn continues.
func TestExpiredWhileProcessWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, shortLived(30*time.Second))
		defer closeFleet(t, f)
		text, err := result(f.Run(t.Context(), "ada", "tool 1"))
		if err != nil || !strings.Contains(text, "Nobody decided") || len(cli.tools) != 0 {
			t.Errorf("the turn ended with %q, %v, the tool ran with %q", text, err, cli.tools)
		}
	})
}

// A prompt that waits behind a question which expires is not kept waiting any longer.
func TestExpiredFreesQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, shortLived(10*time.Minute))
		defer closeFleet(t, f)
		deferredBy(t, f, "ada", "tool 1")
		second := send(t, f, "ada", "more")
		<-time.After(8 * time.Minute)
		if o := outcome(t, f, "ada", second); o.Status != fleet.PromptQueued {
			t.Errorf("before the deadline: %+v", o)
		}
		<-time.After(2 * time.Minute)
		if o := outcome(t, f, "ada", second); o.Status != fleet.PromptAnswered || len(cli.tools) != 0 {
			t.Errorf("after it: %+v, the tool ran with %q", o, cli.tools)
		}
	})
}

// Many questions that expire at once need no slots: those are busy with turns.
func TestManyExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := long.Pick(8, 60)
		cli := newScripted()
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			shortLived(10 * time.Minute)(o)
			o.MaxLive, o.QueueAll = 2, 2*n
		})
		defer closeFleet(t, f)
		prompts := make(map[string]string)
		for i := range n {
			key := fmt.Sprintf("user-%d", i)
			prompts[key] = deferredBy(t, f, key, "tool 1").Prompt
		}
		defer cli.pause()()
		send(t, f, "busy-1", "hello")
		send(t, f, "busy-2", "hello")
		<-time.After(20 * time.Minute)
		for key, id := range prompts {
			if o := outcome(t, f, key, id); o.Status != fleet.PromptExpired {
				t.Fatalf("%s: %+v", key, o)
			}
		}
	})
}

// A prompt that ends because its question has expired ends once, even if the process that
// ends it dies at any of its calls of the store.
func TestExpiredCutOff(t *testing.T) {
	for n := 1; ; n++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), newScripted()
			m := start(t, db, cli, shortLived(10*time.Minute))
			waits := deferredBy(t, m.fleet, "ada", "tool 1")
			q := question(t, m.fleet)
			<-time.After(time.Until(q.Deadline) - 500*time.Millisecond)
			m.mu.Lock()
			calls := 0
			m.failing = func(string) bool { calls++; return calls >= n }
			m.mu.Unlock()
			<-time.After(3 * time.Second)
			crash(t, m)
			m = start(t, db, cli, shortLived(10*time.Minute))
			defer closeFleet(t, m.fleet)
			o, err := m.fleet.Prompt(t.Context(), "ada", waits.Prompt)
			done = err == nil && o.Status == fleet.PromptExpired
			<-time.After(2 * time.Minute)
			if o := outcome(t, m.fleet, "ada", waits.Prompt); o.Status != fleet.PromptExpired || len(cli.tools) != 0 || len(cli.calls) != 1 {
				t.Errorf("cut off at call %d: %+v, the model was asked %q", n, o, cli.calls)
			}
		})
		if done || t.Failed() {
			return
		}
		if n > 200 {
			t.Fatal("it never ended by itself")
		}
	}
}

// A process dies while a person is asked, and the next one breaks off when it has made
// the call a deferred one and not yet recorded that in the question. The question
// expires anyway, and frees the queue.
func TestExpiredAfterBrokenRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, shortLived(10*time.Minute))
		first := send(t, m.fleet, "ada", "tool 1")
		<-time.After(time.Second)
		q := question(t, m.fleet)
		crash(t, m)
		var broken atomic.Bool
		m = start(t, db, cli, func(o *fleet.Options) {
			shortLived(10 * time.Minute)(o)
			in := &interceptor{Fleet: o.Store}
			in.set(func(k store.RecordKey, value []byte) error {
				if k.Kind == approval.Kind && strings.Contains(string(value), `"deferred":true`) && !broken.Swap(true) {
					return errors.New("the store is away")
				}
				return nil
			}, nil)
			o.Store = in
		})
		defer closeFleet(t, m.fleet)
		second := send(t, m.fleet, "ada", "more")
		<-time.After(2 * time.Minute)
		if o := outcome(t, m.fleet, "ada", first); o.Status != fleet.PromptWaiting || !broken.Load() {
			t.Fatalf("after the crash: %+v, broken off: %t", o, broken.Load())
		}
		if now := question(t, m.fleet); now.ID != q.ID || !now.Deferred {
			t.Errorf("the question that nobody waits for: %+v", now)
		}
		<-time.After(time.Until(q.Deadline) + 3*time.Second)
		if o := outcome(t, m.fleet, "ada", first); o.Status != fleet.PromptExpired {
			t.Errorf("after the deadline: %+v", o)
		}
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptAnswered || len(cli.tools) != 0 {
			t.Errorf("the prompt behind it: %+v, the tool ran with %q", o, cli.tools)
		}
	})
}
