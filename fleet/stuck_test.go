package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A prompt at which the CLI fails each time makes its conversation stuck, with the
// reason. Others are not affected, and a retry lets it try again.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		broken := true
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				if key == "ada" && broken {
					return nil, errors.New("no such repository")
				}
				return usual(ctx, key)
			}
		})
		defer closeFleet(t, f)
		_, err := result(f.Run(t.Context(), "ada", "hello"))
		stuck, ok := errors.AsType[*fleet.StuckError](err)
		if !ok || !strings.Contains(stuck.Reason, "no such repository") || strings.Contains(stuck.Reason, "times") {
			t.Fatalf("not stuck: %v", err)
		}
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "more"}); !errors.Is(err, fleet.ErrStuck) {
			t.Errorf("sent: %v", err)
		}
		if id, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: stuck.Prompt, Text: "hello"}); err != nil || id != stuck.Prompt {
			t.Errorf("what was accepted, sent again: %s, %v", id, err)
		}
		if got := ask(t, f, "bob", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateStuck {
			t.Errorf("%+v, %v", info, err)
		}
		if o := outcome(t, f, "ada", stuck.Prompt); o.Status != fleet.PromptStuck || o.Error != stuck.Reason {
			t.Errorf("its ticket: %+v", o)
		}
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Errorf("interrupted, although nothing runs: %v", err)
		}
		broken = false
		if err := f.Retry(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", stuck.Prompt); o.Status != fleet.PromptAnswered || o.Error != "" {
			t.Errorf("after the retry: %+v", o)
		}
	})
}

// Retry leaves alone a conversation that is not stuck.
func TestRetryRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		release := cli.pause()
		id := send(t, f, "ada", "hello")
		synctest.Wait()
		before := allRecords(t, db, "prompt")
		if err := f.Retry(t.Context(), "ada"); err != nil {
			t.Error(err)
		}
		if after := allRecords(t, db, "prompt"); len(before) != 1 || !slices.Equal(before, after) {
			t.Errorf("the prompt was %q, and is %q", before, after)
		}
		release()
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("at the end: %+v", o)
		}
	})
}

// allRecords returns the records of a kind.
func allRecords(t *testing.T, db store.Fleet, kind string) (all []string) {
	t.Helper()
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Key.Name+" "+string(r.Value))
	}
	return all
}

// Two callers that retry a conversation at the same time both succeed.
func TestRetryTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, true)
		defer func() { closeFleet(t, c.m.fleet) }()
		c.broken.Store(false)
		close(c.hold)
		c.store.set(func(k store.RecordKey, _ []byte) error {
			c.store.set(nil, nil)
			return c.m.fleet.Retry(t.Context(), "ada")
		}, nil)
		if err := c.m.fleet.Retry(t.Context(), "ada"); err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptAnswered {
			t.Errorf("at the end: %+v", o)
		}
	})
}

// Watchers of a prompt behind the one at which a conversation is stuck learn so,
// wherever they are: it does not begin either. Its ticket has the reason.
func TestBehindStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		elsewhere := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = fleet.NoCLIs })
		defer closeFleet(t, elsewhere)
		const first, second = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
		for _, id := range []string{first, second} {
			if _, err := elsewhere.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		here := open(t, db, cli, func(o *fleet.Options) {
			o.Session = func(context.Context, string) (*claude.Options, error) { return nil, errors.New("no such repository") }
		})
		defer closeFleet(t, here)
		var watching sync.WaitGroup
		for _, f := range []*fleet.Fleet{here, elsewhere} {
			for _, id := range []string{first, second} {
				watching.Go(func() {
					_, err := result(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: id, Text: "hello"}))
					if stuck, ok := errors.AsType[*fleet.StuckError](err); !ok || stuck.Prompt != first || !strings.Contains(stuck.Reason, "no such repository") {
						t.Errorf("the watcher of %s gets %v", id, err)
					}
				})
			}
		}
		watching.Wait()
		if o := outcome(t, elsewhere, "ada", second); o.Status != fleet.PromptQueued || !strings.Contains(o.Error, "stuck at prompt "+first) || !strings.Contains(o.Error, "no such repository") {
			t.Errorf("the ticket of the other: %+v", o)
		}
	})
}

// A prompt whose money is spent is held, and a watcher in another process learns so.
func TestHeldElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		poor := func(o *fleet.Options) { o.BudgetUSD = 1e-9 }
		elsewhere := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = fleet.NoCLIs; poor(o) })
		defer closeFleet(t, elsewhere)
		send(t, elsewhere, "ada", "one")
		held := make(chan error)
		go func() {
			_, err := result(elsewhere.Run(t.Context(), "ada", "two"))
			held <- err
		}()
		synctest.Wait()
		here := open(t, db, cli, poor)
		defer closeFleet(t, here)
		if err := <-held; !errors.Is(err, fleet.ErrBudget) {
			t.Errorf("the watcher gets %v", err)
		}
	})
}

// Cancelling a prompt behind the one at which a conversation is stuck does not free it.
func TestCancelBehindStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		elsewhere := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = fleet.NoCLIs })
		defer closeFleet(t, elsewhere)
		first, second := send(t, elsewhere, "ada", "one"), send(t, elsewhere, "ada", "two")
		here := open(t, db, cli, func(o *fleet.Options) {
			o.Session = func(context.Context, string) (*claude.Options, error) { return nil, errors.New("no such repository") }
		})
		<-time.After(time.Minute)
		closeFleet(t, here) // or it would be stuck again at once
		if err := elsewhere.Cancel(t.Context(), "ada", second); err != nil {
			t.Fatal(err)
		}
		if info, err := elsewhere.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateStuck {
			t.Errorf("%+v, %v", info, err)
		}
		if o := outcome(t, elsewhere, "ada", first); o.Status != fleet.PromptStuck {
			t.Errorf("the prompt at which it is stuck: %+v", o)
		}
		if o := outcome(t, elsewhere, "ada", second); o.Status != fleet.PromptCancelled {
			t.Errorf("the one behind it: %+v", o)
		}
	})
}
