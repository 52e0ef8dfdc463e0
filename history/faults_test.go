package history_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// storeWork is something that history does with a store.
type storeWork struct {
	name string
	// do returns what it has read. It is repeated after a failure, as a person
	// would, so it accepts what is fine the second time.
	do   func(ctx context.Context, h *history.History) (string, error)
	fine error
}

func storeWorks() []storeWork {
	change := func(do func(ctx context.Context, h *history.History) error) func(context.Context, *history.History) (string, error) {
		return func(ctx context.Context, h *history.History) (string, error) { return "", do(ctx, h) }
	}
	return []storeWork{
		{name: "List", do: listed},
		{name: "Info", do: func(ctx context.Context, h *history.History) (string, error) {
			info, err := h.Info(ctx, sid(1))
			return info.Title, err
		}},
		{name: "Read", do: func(ctx context.Context, h *history.History) (string, error) {
			t, err := h.Read(ctx, sid(1))
			if err != nil {
				return "", err
			}
			agents, err := t.Subagents(ctx)
			return fmt.Sprint(t.Len(), len(agents)), err
		}},
		{name: "Rename", do: change(func(ctx context.Context, h *history.History) error { return h.Rename(ctx, sid(1), "new") })},
		{name: "Tag", do: change(func(ctx context.Context, h *history.History) error { return h.Tag(ctx, sid(1), "mine") })},
		{name: "Archive", do: change(func(ctx context.Context, h *history.History) error { return h.Archive(ctx, sid(1)) })},
		{name: "Delete", fine: history.ErrNotFound, do: change(func(ctx context.Context, h *history.History) error {
			_, err := h.Delete(ctx, sid(1))
			return err
		})},
		{name: "Fork", do: change(func(ctx context.Context, h *history.History) error {
			_, err := h.Fork(ctx, sid(1), history.ForkOptions{Title: "copy"})
			return err
		})},
	}
}

// listed returns the entries of a list, for comparison.
func listed(ctx context.Context, h *history.History) (string, error) {
	var all []string
	for info, err := range h.List(ctx, history.Query{}) {
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprint(info.Title, " ", info.Tag, " ", info.Archived))
	}
	slices.Sort(all)
	return fmt.Sprint(slices.Compact(all)), nil // a fork whose reply was lost is there twice
}

// TestStoreFaults lets every call of a store go wrong in every way, once. The work
// fails with an error, or does what it does without faults; repeated, it comes to
// the same end.
func TestStoreFaults(t *testing.T) {
	for _, w := range storeWorks() {
		for _, listOnly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, list only: %v", w.name, listOnly), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { playFaults(t, w, listOnly) })
			})
		}
	}
}

func playFaults(t *testing.T, w storeWork, listOnly bool) {
	want, wantEnd, calls := playFault(t, w, listOnly, 0, storefault.None)
	if calls == 0 {
		t.Fatal("the store was not called")
	}
	for n := 1; n <= calls; n++ {
		for _, fault := range []storefault.Kind{storefault.Fail, storefault.Timeout, storefault.LostReply, storefault.LostTimeout, storefault.Duplicate, storefault.Late} {
			got, end, _ := playFault(t, w, listOnly, n, fault)
			if got != want || end != wantEnd {
				t.Errorf("%v of call %d: %q, and then %q; want %q and %q", fault, n, got, end, want, wantEnd)
			}
		}
	}
}

// playFault does the work until it succeeds, with a fault at one of the calls, and
// returns what it has read, what a list shows then, and how many calls there were.
func playFault(t *testing.T, w storeWork, listOnly bool, at int, fault storefault.Kind) (got, end string, calls int) {
	t.Helper()
	mem := store.Memory()
	clean, put := inStore(t, mem)
	put(sid(1), "", exchange(sid(1), "", "one", "1")+exchange(sid(1), "a-1", "two", "2"))
	put(sid(1), "abc", exchange(sid(1), "", "look", "seen"))
	put(sid(2), "", exchange(sid(2), "", "other", "3")+`{"type":"continued-in","continuedInSessionId":"`+sid(1)+`","sessionId":"`+sid(2)+`"}`+"\n")
	faulty := storefault.Wrap(mem, func(c storefault.Call) storefault.Kind {
		if c.N == at {
			return fault
		}
		return storefault.None
	})
	h := history.In(faulty, "tenant")
	if listOnly {
		h = history.In(plainStore{faulty}, "tenant")
	}
	got, err := w.do(t.Context(), h)
	calls = faulty.Calls()
	if err != nil && !errors.Is(err, storefault.ErrFault) {
		t.Errorf("%v of call %d: %v", fault, at, err)
	}
	for tries := 0; err != nil && (w.fine == nil || !errors.Is(err, w.fine)); tries++ {
		if tries == 3 {
			t.Fatalf("%v of call %d: again: %v", fault, at, err)
		}
		got, err = w.do(t.Context(), h)
	}
	faulty.Settle()
	if end, err = listed(t.Context(), clean); err != nil {
		t.Fatal(err)
	}
	return got, end, calls
}
