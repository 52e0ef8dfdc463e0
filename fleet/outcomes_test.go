package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// heard are the outcomes that a follower has seen.
type heard struct {
	mu  sync.Mutex
	all []fleet.PromptOutcome
	err error
}

// follow follows the outcomes until ctx ends.
func (h *heard) follow(ctx context.Context, f fleet.Conversations, after fleet.Cursor) {
	for o, err := range f.Outcomes(ctx, after) {
		h.mu.Lock()
		if err != nil {
			h.err = err
		} else {
			h.all = append(h.all, o)
		}
		h.mu.Unlock()
	}
}

// take returns what was heard, in short, and forgets it.
func (h *heard) take() (short []string) {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.all {
		if o.Deleted {
			short = append(short, o.Key+" deleted")
		} else {
			short = append(short, fmt.Sprintf("%s %s %q", o.Key, o.Ticket.Status, o.Ticket.Text))
		}
	}
	h.all = nil
	return short
}

// Outcomes come from every process, at once in their own and after a look in others,
// with the answer, and again from any place. A tenant sees its own.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		client := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = fleet.NoCLIs })
		defer closeFleet(t, client)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		want := func(who string, h *heard, all ...string) {
			t.Helper()
			if got := h.take(); !slices.Equal(got, all) {
				t.Errorf("%s has heard %q, want %q", who, got, all)
			}
		}
		ask(t, f, "ada", "early")
		var here, there, tenant, nobody heard
		for who, in := range map[*heard]fleet.Conversations{&here: f, &there: client, &tenant: client.Tenant("acme"), &nobody: f.Tenant("")} {
			go who.follow(ctx, in, "")
		}
		want("the worker", &here, `ada answered "heard early"`)
		want("the client", &there, `ada answered "heard early"`)
		release := cli.pause()
		running := send(t, f, "acme/bob", "hello")
		waiting := send(t, client, "acme/bob", "never")
		if err := client.Cancel(t.Context(), "acme/bob", waiting); err != nil {
			t.Fatal(err)
		}
		want("the worker", &here, `acme/bob cancelled ""`)
		want("the client", &there, `acme/bob cancelled ""`)
		release()
		ticket, err := f.Wait(t.Context(), "acme/bob", running)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		here.mu.Lock()
		last := here.all[len(here.all)-1]
		here.mu.Unlock()
		if last.Ticket.Prompt != running || last.Ticket.Result == nil || !last.Ticket.Ended.Equal(ticket.Ended) || last.Ticket.Cost.USD != ticket.Cost.USD {
			t.Errorf("%+v, want %+v", last.Ticket, ticket)
		}
		want("the worker", &here, `acme/bob answered "heard hello"`)
		<-time.After(5 * time.Second)
		want("the client", &there, `acme/bob answered "heard hello"`)
		want("the tenant", &tenant, `acme/bob cancelled ""`, `acme/bob answered "heard hello"`)
		want("nobody", &nobody)
		if err := f.Delete(t.Context(), "acme/bob"); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		want("the tenant", &tenant, "acme/bob deleted")
		// A reader that begins now learns that prompts have ended, and nothing that was
		// said.
		var late heard
		go late.follow(ctx, f, "")
		want("one who begins late", &late, `ada answered "heard early"`, `acme/bob cancelled ""`, `acme/bob answered ""`, "acme/bob deleted")
		go late.follow(ctx, f, last.Cursor)
		want("one who continues", &late, "acme/bob deleted")
		cancel()
		synctest.Wait()
		for _, h := range []*heard{&here, &there, &tenant, &nobody, &late} {
			if !errors.Is(h.err, context.Canceled) {
				t.Errorf("ends with %v", h.err)
			}
		}
	})
}

// Deleting a conversation ends its prompts, each and before the deletion.
func TestOutcomesOfDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{})
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		var h heard
		go h.follow(t.Context(), f, "")
		send(t, f, "ada", "hello")
		send(t, f, "ada", "more")
		synctest.Wait()
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if got, want := h.take(), []string{`ada cancelled ""`, `ada cancelled ""`, "ada deleted"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// A conversation that is stuck is among them while it is, even when its process died
// before it could tell, and again when its prompt has ended.
func TestOutcomesOfStuck(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), newScripted()
			broken := true
			breaking := func(o *fleet.Options) {
				usual := o.Session
				o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
					if broken {
						return nil, errors.New("no such repository")
					}
					return usual(ctx, key)
				}
			}
			m := start(t, db, cli, func(o *fleet.Options) {
				breaking(o)
				watched := &interceptor{Fleet: o.Store}
				o.Store = watched
				watched.set(func(k store.RecordKey, _ []byte) error {
					if k.Kind == "ended" && dies {
						return errDies
					}
					return nil
				}, nil)
			})
			id := send(t, m.fleet, "ada", "hello")
			<-time.After(time.Second)
			if dies {
				m.kill()
				crash(t, m)
				m = start(t, db, cli, breaking)
				<-time.After(2 * time.Minute) // the lease of the dead
			}
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptStuck {
				t.Fatalf("%+v", o)
			}
			var h heard
			go h.follow(t.Context(), m.fleet, "")
			if got := h.take(); !slices.Equal(got, []string{`ada stuck ""`}) {
				t.Errorf("dies %t: %q", dies, got)
			}
			broken = false
			if err := m.fleet.Retry(t.Context(), "ada"); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			if got := h.take(); !slices.Equal(got, []string{`ada answered "heard hello"`}) {
				t.Errorf("dies %t, after the retry: %q", dies, got)
			}
			go h.follow(t.Context(), m.fleet, "") // for which it was never stuck
			if got := h.take(); !slices.Equal(got, []string{`ada answered "heard hello"`}) {
				t.Errorf("dies %t, one who begins late: %q", dies, got)
			}
			closeFleet(t, m.fleet)
		})
	}
}

// ahead is a store whose clock is days ahead.
type ahead struct {
	*store.MemoryStore
	days atomic.Int64
}

func (a *ahead) Now(ctx context.Context) (time.Time, error) {
	now, err := a.MemoryStore.Now(ctx)
	return now.AddDate(0, 0, int(a.days.Load())), err
}

// Outcomes are kept for a while. Then a cursor from before is refused, even if outcomes
// themselves are kept forever.
func TestOutcomesTooOld(t *testing.T) {
	for _, keep := range []time.Duration{time.Hour, fleet.KeepForever}[:long.Pick(1, 2)] {
		synctest.Test(t, func(t *testing.T) {
			db := &ahead{MemoryStore: store.Memory()}
			f := open(t, db, newScripted(), func(o *fleet.Options) { o.Keep, o.Poll = keep, time.Hour })
			defer closeFleet(t, f)
			next := func(after fleet.Cursor) (fleet.PromptOutcome, error) {
				for o, err := range f.Outcomes(t.Context(), after) {
					return o, err
				}
				return fleet.PromptOutcome{}, nil
			}
			ask(t, f, "ada", "hello")
			first, err := next("")
			if err != nil {
				t.Fatal(err)
			}
			for n := range 70 { // more than a page
				<-time.After(time.Second)
				if _, err := result(f.RunPrompt(t.Context(), "bob", fleet.Prompt{ID: promptID(n), Text: "hello"})); err != nil {
					t.Fatal(err)
				}
			}
			if second, err := next(first.Cursor); err != nil || second.Ticket.Prompt != promptID(0) {
				t.Errorf("%+v, %v", second, err)
			}
			db.days.Store(31)
			if keep == fleet.KeepForever {
				<-time.After(25 * time.Hour) // until it is cleaned up
			} else {
				<-time.After(keep)
			}
			if _, err := next(first.Cursor); !errors.Is(err, fleet.ErrCursorTooOld) {
				t.Errorf("kept for %v: %v", keep, err)
			}
			if o, err := next(""); err != nil || o.Ticket.Prompt != promptID(63) || (o.Ticket.Text != "") != (keep == fleet.KeepForever) {
				t.Errorf("kept for %v, from the beginning: %+v, %v", keep, o, err)
			}
			for _, odd := range []fleet.Cursor{"x", "outcome:", "outcome:-1", "00000000-0000-4000-8000-000000000000:3", "outcome:100000", "outcome:128"} {
				if _, err := next(odd); !errors.Is(err, store.ErrInvalid) {
					t.Errorf("cursor %q: %v", odd, err)
				}
			}
		})
	}
}

// A follower asks again while the store cannot be read, and ends with the fleet.
func TestOutcomesOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, store.Memory(), newScripted(), nil)
		var h heard
		go h.follow(t.Context(), m.fleet, "")
		synctest.Wait()
		m.mu.Lock()
		m.downUntil = time.Now().Add(time.Minute)
		m.mu.Unlock()
		<-time.After(2 * time.Minute)
		ask(t, m.fleet, "ada", "hello")
		if got := h.take(); len(got) != 1 {
			t.Errorf("%q", got)
		}
		closeFleet(t, m.fleet)
		h.take()
		if !errors.Is(h.err, fleet.ErrClosed) {
			t.Errorf("ends with %v", h.err)
		}
	})
}

// A loop may be left while its context is over.
func TestOutcomesLeftWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		heard := 0
		for _, err := range f.Outcomes(ctx, "") {
			if err != nil {
				t.Error(err)
			}
			heard++
			cancel()
			break
		}
		if heard != 1 {
			t.Errorf("%d outcomes", heard)
		}
	})
}

// An outcome that cannot be read comes with its error and its cursor, and all others come
// too. A mark that cannot be read keeps back no other.
func TestOutcomesUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		id := send(t, f, "ada", "hello")
		if _, err := f.Wait(t.Context(), "ada", id); err != nil {
			t.Fatal(err)
		}
		rewrite(t, db, "outcome", newerBy)
		ask(t, f, "bob", "hello")
		mark := store.RecordKey{Project: "p", Kind: "ended", Name: "c/x/" + id}
		if _, err := store.Put(t.Context(), db, mark, []byte("{"), 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		var behind fleet.Cursor
		for o, err := range f.Outcomes(t.Context(), "") {
			if o.Key == "bob" {
				if err != nil || behind == "" {
					t.Errorf("%+v, %v, behind %q", o, err, behind)
				}
				break
			}
			if behind = o.Cursor; !errors.Is(err, store.ErrNewer) || o.Key != "ada" || o.Ticket.Prompt != id || o.Ticket.Status != fleet.PromptAnswered || o.Ticket.Ended.IsZero() {
				t.Fatalf("%+v, %v", o, err)
			}
		}
		for o, err := range f.Outcomes(t.Context(), behind) {
			if err != nil || o.Key != "bob" {
				t.Errorf("behind it: %+v, %v", o, err)
			}
			break
		}
		if _, err := store.Get(t.Context(), db, mark); err != nil {
			t.Errorf("the mark that cannot be read: %v", err)
		}
	})
}

// A key that is deleted twice is reported twice, even to a reader that comes late.
func TestOutcomesOfDeletedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		for range 2 {
			ask(t, f, "ada", "hello")
			if err := f.Delete(t.Context(), "ada"); err != nil {
				t.Fatal(err)
			}
		}
		var h heard
		go h.follow(t.Context(), f, "")
		if got, want := h.take(), []string{`ada answered ""`, "ada deleted", `ada answered ""`, "ada deleted"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
