package fleet_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// announcements are the messages between several processes with one store.
type announcements struct {
	mu      sync.Mutex
	readers []func(store.Change)
}

func (a *announcements) tell(c store.Change) {
	a.mu.Lock()
	readers := append([]func(store.Change){}, a.readers...)
	a.mu.Unlock()
	for _, read := range readers {
		read(c)
	}
}

// announcing is a store that announces changes at once.
type announcing struct {
	store.Fleet
	all       *announcements
	releasing atomic.Pointer[func()] // called before the lease of a conversation is given back; nil: nothing
}

func (s *announcing) Notify(_ context.Context, _ string, read func(store.Change)) (func(), error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.readers = append(s.all.readers, read)
	return func() {}, nil
}

func (s *announcing) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := s.Fleet.Change(ctx, f, c...)
	for _, one := range c {
		if err == nil {
			s.all.tell(store.Change{Record: one.Key, Dropped: one.Drop, Lease: f.Name, Token: f.Token})
		}
	}
	return next, err
}

func (s *announcing) Release(ctx context.Context, l store.Lease) error {
	if releasing := s.releasing.Load(); releasing != nil && strings.HasPrefix(l.Name, "fleet/") {
		(*releasing)()
	}
	err := s.Fleet.Release(ctx, l)
	if err == nil {
		s.all.tell(store.Change{Lease: l.Name, Released: true})
	}
	return err
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
				db, all, cli, broken := store.Memory(), new(announcements), newScripted(), new(atomic.Bool)
				broken.Store(true)
				at := &announcing{Fleet: db, all: all}
				client := open(t, &announcing{Fleet: db, all: all}, nil, withoutCLIs)
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

// A conversation that another process unblocks continues, even if the store does not
// announce changes.
func TestUnblockedElsewhere(t *testing.T) {
	for how, act := range unblock {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli, broken := store.Memory(), newScripted(), new(atomic.Bool)
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
