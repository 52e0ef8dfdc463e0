package fleet_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// announcing is a store that does something before the lease of a conversation is given
// back.
type announcing struct {
	store.Fleet
	releasing atomic.Pointer[func()] // nil: nothing
}

func (s *announcing) Release(ctx context.Context, l store.Lease) error {
	if releasing := s.releasing.Load(); releasing != nil && strings.HasPrefix(l.Name, "fleet/") {
		(*releasing)()
		synctest.Wait() // all processes have noticed it
	}
	return s.Fleet.Release(ctx, l)
}

// unwatched is a store that cannot be watched.
type unwatched struct{ store.Fleet }

func (unwatched) Watch(context.Context, string) iter.Seq2[store.Changed, error] {
	return func(yield func(store.Changed, error) bool) { yield(store.Changed{}, errors.ErrUnsupported) }
}

// breakable lets the CLIs of a fleet fail to start while broken is true.
func breakable(broken *atomic.Bool) func(*fleet.Options) {
	return func(o *fleet.Options) {
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if broken.Load() {
				return nil, errors.New("no such repository")
			}
			return usual(ctx, key)
		}
	}
}

// withoutCLIs makes a fleet one that runs no conversations.
func withoutCLIs(o *fleet.Options) { o.MaxLive, o.Session = fleet.NoCLIs, nil }

// unblock lets a conversation that is stuck at a prompt continue.
var unblock = map[string]func(ctx context.Context, f *fleet.Fleet, prompt string) error{
	"cancel": func(ctx context.Context, f *fleet.Fleet, prompt string) error { return f.Cancel(ctx, "ada", prompt) },
	"retry":  func(ctx context.Context, f *fleet.Fleet, _ string) error { return f.Retry(ctx, "ada") },
}

// A conversation that another process unblocks continues, even in the moment in which
// the worker gives up its slot because the conversation is stuck.
func TestUnblockedWhileLeaving(t *testing.T) {
	for how, act := range unblock {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli, broken := store.Memory(), newScripted(), new(atomic.Bool)
				broken.Store(true)
				at := &announcing{Fleet: db}
				client := open(t, db, nil, withoutCLIs)
				defer closeFleet(t, client)
				first, second := send(t, client, "ada", "first"), send(t, client, "ada", "second")
				releasing := func() {
					if info, err := client.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateStuck || !broken.Load() {
						return
					}
					broken.Store(false)
					if err := act(t.Context(), client, first); err != nil {
						t.Error(err)
					}
				}
				at.releasing.Store(&releasing)
				worker := open(t, at, cli, breakable(broken))
				defer closeFleet(t, worker)
				<-time.After(6 * time.Minute)
				if broken.Load() {
					t.Fatal("the conversation did not get stuck")
				}
				if o := outcome(t, client, "ada", second); o.Status != fleet.PromptAnswered {
					t.Errorf("the prompt behind it: %+v", o)
				}
			})
		})
	}
}

// A conversation that another process unblocks continues, even if the store cannot be
// watched.
func TestUnblockedElsewhere(t *testing.T) {
	for how, act := range unblock {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli, broken := unwatched{store.Memory()}, newScripted(), new(atomic.Bool)
				broken.Store(true)
				worker := open(t, db, cli, breakable(broken))
				defer closeFleet(t, worker)
				client := open(t, db, nil, withoutCLIs)
				defer closeFleet(t, client)
				first, second := send(t, client, "ada", "first"), send(t, client, "ada", "second")
				<-time.After(6 * time.Minute)
				if o := outcome(t, client, "ada", first); o.Status != fleet.PromptStuck {
					t.Fatalf("not stuck: %+v", o)
				}
				broken.Store(false)
				if err := act(t.Context(), client, first); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
				if o := outcome(t, client, "ada", second); o.Status != fleet.PromptAnswered {
					t.Errorf("the prompt behind it: %+v", o)
				}
			})
		})
	}
}

// A conversation that waits for a person can be interrupted by a process that does not
// run it.
func TestInterruptedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		worker := start(t, db, cli, nil)
		defer closeFleet(t, worker.fleet)
		client := open(t, db, nil, withoutCLIs)
		defer closeFleet(t, client)
		id := send(t, client, "ada", "tool 1")
		<-time.After(10 * time.Minute)
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptWaiting {
			t.Fatalf("it does not wait: %+v", o)
		}
		if err := client.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptFailed || !o.Interrupted {
			t.Errorf("after the interrupt: %+v", o)
		}
		if got := ask(t, client, "ada", "more"); !strings.HasSuffix(got, "more") || len(cli.tools) != 0 {
			t.Errorf("the next prompt: %q, the tool ran with %q", got, cli.tools)
		}
	})
}
