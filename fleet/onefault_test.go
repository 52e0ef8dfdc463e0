package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// making is a way to make a conversation with the key "new".
type making struct {
	do   func(ctx context.Context, f *fleet.Fleet) error
	once bool // a second time it fails with ErrExists
}

// makings are all ways.
func makings(d *disk) map[string]making {
	id := uuid.New()
	return map[string]making{
		"a title": {func(ctx context.Context, f *fleet.Fleet) error {
			return f.Describe(ctx, "new", fleet.Description{Title: "Letters", Labels: map[string]string{"for": "bob"}})
		}, false},
		"a prompt": {func(ctx context.Context, f *fleet.Fleet) error {
			_, err := f.Send(ctx, "new", fleet.Prompt{ID: id, Text: "hello"})
			return err
		}, false},
		"a session":           {func(ctx context.Context, f *fleet.Fleet) error { return f.Resume(ctx, "new", d.from()) }, false},
		"a copy of a session": {func(ctx context.Context, f *fleet.Fleet) error { return f.Resume(ctx, "new", d.fork()) }, true},
		"a copy":              {func(ctx context.Context, f *fleet.Fleet) error { return f.Fork(ctx, "old", "new", "") }, true},
	}
}

// with makes a conversation in a store of its own, with a fault at one call, and again
// if that fails. It returns what there is in the end, and how many calls it took.
func (m *making) with(t *testing.T, d *disk, at int, fault storefault.Kind) (state string, calls int) {
	t.Helper()
	db := store.Memory()
	var counts atomic.Bool
	var count atomic.Int64
	faulty := storefault.Wrap(db, func(storefault.Call) storefault.Kind {
		if counts.Load() && count.Add(1) == int64(at) {
			return fault
		}
		return storefault.None
	})
	f := open(t, faulty, nil, func(o *fleet.Options) { o.MaxLive, o.Session = fleet.NoCLIs, nil })
	if err := f.Resume(t.Context(), "old", d.fork()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	counts.Store(true)
	err := m.do(t.Context(), f)
	counts.Store(false)
	if err != nil && !errors.Is(err, storefault.ErrFault) {
		t.Errorf("%v at call %d: %v", fault, at, err)
	}
	for n := 0; err != nil && n < 2; n++ {
		if err = m.do(t.Context(), f); errors.Is(err, store.ErrLeased) {
			<-time.After(time.Minute) // its end was lost
		}
		if m.once && errors.Is(err, fleet.ErrExists) {
			err = nil // it was made
		}
	}
	if err != nil {
		t.Errorf("%v at call %d, again: %v", fault, at, err)
	}
	faulty.Settle()
	closeFleet(t, f)
	f = open(t, db, newScripted(), nil)
	defer closeFleet(t, f)
	<-time.After(20 * time.Minute) // prompts are answered, and what was left over is removed
	return stateOf(t, f, db), int(count.Load())
}

// stateOf describes what is stored: everything that has no random name as it is.
func stateOf(t *testing.T, f *fleet.Fleet, db *store.MemoryStore) string {
	t.Helper()
	all := left(t, db)
	for i := range all {
		if strings.HasPrefix(all[i], "prompt ") {
			all[i] = "prompt" // its name has the time
		}
	}
	for info, err := range f.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if all[i] == "session "+info.Session {
				all[i] = "session of " + info.Key
			}
		}
		all = append(all, fmt.Sprintf("%s: %q %v, %d queued, says %q", info.Key, info.Title, info.Labels, info.Queued, spokenIn(t, f, info.Key)))
		if info.Session == "" {
			continue // nothing was said yet
		}
		for sub, err := range db.Subagents(t.Context(), "p", info.Session) {
			all = append(all, fmt.Sprint(info.Key, " has ", sub, err))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Whichever call of the store fails, loses its reply, comes late or twice while a
// conversation is made: the call says so or has done its work, and done again it comes to
// what there is without the fault. Nothing else is left. On the quick level each fault takes
// another third of the calls.
func TestFaultAtEveryCallOfMaking(t *testing.T) {
	for i, fault := range []storefault.Kind{storefault.Fail, storefault.LostReply, storefault.Late, storefault.Duplicate} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk(t, "one", "two")
			for name, m := range makings(d) {
				want, calls := m.with(t, d, 0, storefault.None)
				if calls < 3 || !strings.Contains(want, "new: ") {
					t.Errorf("%s: %d calls, and then\n%s", name, calls, want)
				}
				for at := 1 + i%long.Pick(3, 1); at <= calls; at += long.Pick(3, 1) {
					if got, _ := m.with(t, d, at, fault); got != want {
						t.Errorf("%s, %v at call %d of %d: there is\n%s\nwant\n%s", name, fault, at, calls, got, want)
					}
				}
			}
		})
	}
}
