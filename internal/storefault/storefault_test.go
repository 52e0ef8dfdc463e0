package storefault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

var key = store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}

func entry(id string) store.Batch {
	return store.Batch{ID: id, Entries: []store.Entry{store.Entry(fmt.Sprintf(`{"n":%q}`, id))}}
}

// count returns how many entries a store has.
func count(t *testing.T, s store.Fleet) int {
	t.Helper()
	n := 0
	for _, err := range store.Entries(t.Context(), s, key) {
		if errors.Is(err, store.ErrNotFound) {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// first chooses a fault for the first call.
func first(f storefault.Kind) func(storefault.Call) storefault.Kind {
	return func(c storefault.Call) storefault.Kind {
		if c.N == 1 {
			return f
		}
		return storefault.None
	}
}

// Without faults the wrapper is the store.
func TestFaultyPassesTheContract(t *testing.T) {
	storetest.Run(t, storetest.Target{Open: func(*testing.T) store.Fleet {
		return storefault.Wrap(store.Memory(), func(storefault.Call) storefault.Kind { return storefault.None })
	}})
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault          storefault.Kind
		ok             bool
		waits          time.Duration
		stored, settle int // entries without a uuid and an id, at once and after Settle
	}{
		{fault: storefault.None, ok: true, stored: 1, settle: 1},
		{fault: storefault.Fail},
		{fault: storefault.Timeout, waits: time.Second},
		{fault: storefault.LostReply, stored: 1, settle: 1},
		{fault: storefault.LostTimeout, waits: time.Second, stored: 1, settle: 1},
		{fault: storefault.Duplicate, ok: true, stored: 2, settle: 2},
		{fault: storefault.Late, settle: 1},
		{fault: storefault.Later, settle: 1},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := store.Memory()
				s := storefault.Wrap(inner, first(c.fault))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				err := s.Append(ctx, key, store.Batch{Entries: entry("x").Entries})
				if waited := time.Since(begin); waited != c.waits {
					t.Errorf("waited %v, want %v", waited, c.waits)
				}
				if (err == nil) != c.ok || err != nil && !errors.Is(err, storefault.ErrFault) {
					t.Errorf("Append = %v", err)
				}
				if c.waits > 0 && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Append = %v, want the end of the context too", err)
				}
				if got := count(t, inner); got != c.stored {
					t.Errorf("%d entries at once, want %d", got, c.stored)
				}
				s.Settle()
				if got := count(t, inner); got != c.settle {
					t.Errorf("%d entries at the end, want %d", got, c.settle)
				}
			})
		})
	}
}

// A late write is applied after the next call, and a later one after the tenth.
func TestLate(t *testing.T) {
	for fault, want := range map[storefault.Kind]int{storefault.Late: 1, storefault.Later: 10} {
		inner := store.Memory()
		s := storefault.Wrap(inner, first(fault))
		if err := s.Append(t.Context(), key, entry("late")); !errors.Is(err, storefault.ErrFault) {
			t.Fatal(err)
		}
		calls := 0
		for ; calls < 20 && count(t, inner) == 0; calls++ {
			if _, err := s.Now(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if calls != want {
			t.Errorf("%v: it comes after %d calls, want %d", fault, calls, want)
		}
	}
}

// A loop fails before the first item or after it, and ends with its context.
func TestFaultsOfLoops(t *testing.T) {
	for fault, want := range map[storefault.Kind]int{storefault.None: 2, storefault.Fail: 0, storefault.Timeout: 0, storefault.LostReply: 1, storefault.LostTimeout: 1, storefault.Duplicate: 2, storefault.Late: 0, storefault.Later: 0} {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := store.Memory()
				for _, id := range []string{"a", "b"} {
					if err := inner.Append(t.Context(), key, entry(id)); err != nil {
						t.Fatal(err)
					}
				}
				n := 0
				var last error
				for _, err := range store.Entries(t.Context(), storefault.Wrap(inner, first(fault)), key) { // the context has no end
					if last = err; err == nil {
						n++
					}
				}
				if whole := want == 2; n != want || (last == nil) != whole || last != nil && !errors.Is(last, storefault.ErrFault) {
					t.Errorf("%d items, then %v; want %d", n, last, want)
				}
			})
		})
	}
}

// The same seed repeats the same run, and the share of faults is the requested
// one.
func TestSeeded(t *testing.T) {
	a, b, other := storefault.Seeded(1, 0.3), storefault.Seeded(1, 0.3), storefault.Seeded(2, 0.3)
	faults, differ := 0, 0
	seen := make(map[storefault.Kind]int)
	for n := range 10_000 {
		c := storefault.Call{N: n + 1, Method: "Append"}
		f := a(c)
		if f != b(c) {
			t.Fatalf("call %d differs for the same seed", n)
		}
		if f != other(c) {
			differ++
		}
		if f != storefault.None {
			faults++
		}
		seen[f]++
	}
	if faults < 2700 || faults > 3300 || differ < 1000 || len(seen) != 8 {
		t.Errorf("%d faults of 10,000, %d differ from another seed, %v", faults, differ, seen)
	}
	if f := storefault.Seeded(1, 1, storefault.Late)(storefault.Call{N: 1}); f != storefault.Late {
		t.Errorf("of late only: %v", f)
	}
}

// A writer that repeats what failed loses nothing and doubles nothing, whatever
// the faults. It stands for the mirror.
func TestRetriesOverFaults(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			inner := store.Memory()
			s := storefault.Wrap(inner, storefault.Seeded(seed, 0.5))
			for i := range 10 {
				for {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err := s.Append(ctx, key, entry(fmt.Sprint(i)))
					cancel()
					if err == nil {
						break
					}
				}
			}
			s.Settle()
			i := 0
			for e, err := range store.Entries(t.Context(), inner, key) {
				if want := fmt.Sprintf(`{"n":"%d"}`, i); err != nil || string(e) != want {
					t.Fatalf("seed %d: entry %d is %s, %v; want %s", seed, i, e, err, want)
				}
				i++
			}
			if i != 10 {
				t.Errorf("seed %d: %d entries", seed, i)
			}
		})
	}
}
