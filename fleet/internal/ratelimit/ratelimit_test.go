package ratelimit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/ratelimit"
	"github.com/claude-agent-go/claude/store"
)

var fourAMinute = ratelimit.Limit{Each: 15 * time.Second, Per: time.Minute}

// A burst is let through, then one event after each interval. After a while there is a
// burst again.
func TestLimit(t *testing.T) {
	begin := time.Unix(1000, 0)
	var due time.Time
	take := func(after time.Duration) (wait time.Duration) {
		due, wait = fourAMinute.Take(due, begin.Add(after))
		return wait
	}
	for n := range 4 {
		if wait := take(0); wait != 0 {
			t.Fatalf("event %d waits %v", n, wait)
		}
	}
	for _, c := range []struct{ after, wait time.Duration }{
		{0, 15 * time.Second}, {0, 15 * time.Second}, {5 * time.Second, 10 * time.Second},
		{15 * time.Second, 0}, {15 * time.Second, 15 * time.Second}, {time.Hour, 0}, {time.Hour, 0}, {time.Hour, 0}, {time.Hour, 0}, {time.Hour, 15 * time.Second},
	} {
		if wait := take(c.after); wait != c.wait {
			t.Errorf("after %v: %v, want %v", c.after, wait, c.wait)
		}
	}
}

// A time that is far ahead, of another clock or under another limit, delays a name by
// one interval, in every process, including those that know it from before.
func TestSharedAhead(t *testing.T) {
	db := store.Memory()
	a, b := ratelimit.NewShared(db, "p"), ratelimit.NewShared(db, "p")
	now := time.Unix(1000, 0)
	perDay := ratelimit.Limit{Each: 24 * time.Hour, Per: 24 * time.Hour}
	take := func(s *ratelimit.Shared, l ratelimit.Limit, after, want time.Duration) {
		t.Helper()
		if wait, err := s.Take(t.Context(), "acme", l, now.Add(after)); wait != want || err != nil {
			t.Errorf("after %v: waits %v, want %v (%v)", after, wait, want, err)
		}
	}
	take(a, perDay, 0, 0) // the next is due in a day
	take(b, fourAMinute, 0, fourAMinute.Each)
	take(b, fourAMinute, fourAMinute.Each, 0)
	take(a, fourAMinute, fourAMinute.Each, fourAMinute.Each)
	take(a, fourAMinute, 2*fourAMinute.Each, 0)
}

// A caller that had to wait, and comes with an earlier time, does not let more events
// through.
func TestSharedLate(t *testing.T) {
	s, now, let := ratelimit.NewShared(store.Memory(), "p"), time.Unix(1000, 0), 0
	for n := range 60 {
		for _, at := range []time.Time{now.Add(time.Duration(n) * time.Second), now.Add(time.Duration(n-5) * time.Second)} {
			wait, err := s.Take(t.Context(), "acme", fourAMinute, at)
			if err != nil {
				t.Fatal(err)
			}
			if wait == 0 {
				let++
			}
		}
	}
	if let != 4+3 {
		t.Errorf("%d were let through in a minute", let)
	}
}

// A damaged record is replaced, and removed with those that limit nothing. One of a newer
// version stays, and refuses.
func TestDamaged(t *testing.T) {
	db := store.Memory()
	s := ratelimit.NewShared(db, "p")
	now := time.Unix(100000, 0)
	for name, value := range map[string]string{"acme": `{"v":1,"due":7}`, "bad": `{"v":1,"due":7}`, "newer": `{"v":2}`} {
		k := store.RecordKey{Project: "p", Kind: ratelimit.Kind, Name: name}
		if _, err := store.Put(t.Context(), db, k, []byte(value), 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range []time.Duration{0, 0, 0, 0, fourAMinute.Each} {
		if wait, err := s.Take(t.Context(), "acme", fourAMinute, now); wait != want || err != nil {
			t.Errorf("event %d: %v, %v", n, wait, err)
		}
	}
	if _, err := s.Take(t.Context(), "newer", fourAMinute, now); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer record: %v", err)
	}
	if err := ratelimit.Forget(t.Context(), db, "p", now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: ratelimit.Kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Key.Name)
	}
	if !slices.Equal(names, []string{"acme", "newer"}) {
		t.Errorf("left: %q", names)
	}
}

// Two processes together take no more than the limit, however they compete, and all of
// it.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		processes := []*ratelimit.Shared{ratelimit.NewShared(db, "p"), ratelimit.NewShared(db, "p")}
		now := time.Now()
		for round := range 3 {
			var let, refused atomic.Int32
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					wait, err := processes[i%2].Take(t.Context(), "acme", fourAMinute, now)
					switch {
					case err != nil:
						t.Error(err)
					case wait == 0:
						let.Add(1)
					case wait < 0 || wait > 15*time.Second:
						t.Errorf("waits %v", wait)
					default:
						refused.Add(1)
					}
				})
			}
			all.Wait()
			if let.Load() != 4 || refused.Load() != 36 {
				t.Errorf("round %d: %d let through, %d refused", round, let.Load(), refused.Load())
			}
			now = now.Add(time.Minute)
		}
		if wait, err := processes[0].Take(t.Context(), "other", fourAMinute, now.Add(-time.Minute)); wait != 0 || err != nil {
			t.Errorf("another name: %v, %v", wait, err)
		}
	})
}

// outrun is a store in which another process always writes first.
type outrun struct {
	*store.MemoryStore
	tries int
}

func (s *outrun) Change(context.Context, store.Fence, ...store.RecordChange) ([]int64, error) {
	s.tries++
	return nil, store.ErrConflict
}

// A caller that is always outrun is refused after a few attempts, and an error is
// passed on.
func TestSharedOutrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &outrun{MemoryStore: store.Memory()}
		s := ratelimit.NewShared(db, "p")
		if wait, err := s.Take(t.Context(), "acme", fourAMinute, time.Now()); wait != fourAMinute.Each || err != nil || db.tries != 8 {
			t.Errorf("%v, %v after %d attempts", wait, err, db.tries)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		cancel(over)
		if _, err := s.Take(ctx, "acme", fourAMinute, time.Now()); !errors.Is(err, over) {
			t.Errorf("%v", err)
		}
	})
}

// Records that limit nothing are removed, and others stay. A removed one is made again.
func TestForget(t *testing.T) {
	db := store.Memory()
	s := ratelimit.NewShared(db, "p")
	old, now := time.Unix(1000, 0), time.Unix(100000, 0)
	for name, at := range map[string]time.Time{"old": old, "new": now} {
		if _, err := s.Take(t.Context(), name, fourAMinute, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := ratelimit.Forget(t.Context(), db, "p", now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: ratelimit.Kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Key.Name)
	}
	if len(names) != 1 || names[0] != "new" {
		t.Errorf("left: %q", names)
	}
	if wait, err := s.Take(t.Context(), "old", fourAMinute, now); wait != 0 || err != nil {
		t.Errorf("%v, %v", wait, err)
	}
}
