package storeimpl_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// revision is a change of a record to a revision.
func revision(n int64) store.Changed {
	return store.Changed{Record: store.RecordKey{Project: "p", Kind: "k", Name: "n"}, Revision: n}
}

// The source begins with the first reader and has ended when the last has left. Until it hears
// everything, no reader is told that it does.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, runs := 0, 0
		hears := make(chan bool)
		var h *storeimpl.Hub
		h = storeimpl.NewHub(func(ctx context.Context) error {
			mu.Lock()
			running, runs = running+1, runs+1
			if running > 1 {
				t.Error("two sources at once")
			}
			mu.Unlock()
			defer func() { mu.Lock(); running--; mu.Unlock() }()
			for {
				select {
				case <-ctx.Done():
					h.Missed() // too late: the next source does not hear yet
					return ctx.Err()
				case hear := <-hears:
					if hear {
						h.Missed()
					} else {
						h.Deaf()
					}
				}
			}
		})
		for round := range 3 {
			items, ctx := make(chan int64, 10), t.Context()
			var wg sync.WaitGroup
			leave := make(chan bool)
			watch := func() {
				wg.Go(func() {
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					go func() { <-leave; cancel() }()
					for c := range h.Watch(ctx, "p") {
						items <- c.Revision
					}
				})
				synctest.Wait()
			}
			watch()
			h.Send(revision(1)) // it is left out: a zero will follow
			synctest.Wait()
			if len(items) > 0 {
				t.Fatalf("round %d: %d comes before the source hears", round, <-items)
			}
			hears <- true
			synctest.Wait()
			watch()
			if a, b := <-items, <-items; a != 0 || b != 0 {
				t.Errorf("round %d: %d and %d come first", round, a, b)
			}
			hears <- false
			synctest.Wait()
			watch()
			h.Send(revision(2))
			synctest.Wait()
			if len(items) > 0 {
				t.Fatalf("round %d: %d comes while the source is deaf", round, <-items)
			}
			hears <- true
			synctest.Wait()
			for range 3 {
				if n := <-items; n != 0 {
					t.Errorf("round %d: %d comes after the source was deaf", round, n)
				}
			}
			close(leave)
			wg.Wait()
			if running != 0 || runs != round+1 {
				t.Errorf("round %d: %d of %d sources run", round, running, runs)
			}
		}
	})
}

// A source that fails ends its readers. The next reader tries again.
func TestSourceFails(t *testing.T) {
	failed := errors.New("failed")
	var h *storeimpl.Hub
	runs := int64(0)
	h = storeimpl.NewHub(func(ctx context.Context) error {
		runs++
		h.Missed()
		h.Send(revision(runs))
		return failed
	})
	for want := int64(1); want <= 2; want++ {
		var last error
		for c, err := range h.Watch(t.Context(), "p") {
			if last = err; c.Revision > want {
				t.Errorf("%d comes in run %d", c.Revision, want)
			}
		}
		if last != failed || runs != want {
			t.Errorf("run %d of %d: %v", want, runs, last)
		}
	}
	h.Close(failed)
}

// A hub hands each change to the readers of its project.
func TestHubProjects(t *testing.T) {
	h := storeimpl.NewHub(nil)
	all := []store.Changed{
		{Record: store.RecordKey{Project: "p", Kind: "k", Name: "n"}},
		{Transcript: store.Key{Project: "p", Session: session}},
		{Released: "l", By: store.Fence{Project: "p", Name: "l", Token: 1}},
	}
	n := 0
	for c, err := range h.Watch(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		if c.IsZero() {
			h.Send(store.Changed{Record: store.RecordKey{Project: "q", Kind: "k", Name: "n"}})
			h.Send(all...)
			continue
		}
		if c != all[n] {
			t.Errorf("%+v comes instead of %+v", c, all[n])
		}
		if n++; n == len(all) {
			break
		}
	}
	for _, err := range h.Watch(t.Context(), "not/one") {
		if _, ok := errors.AsType[*store.KeyError](err); !ok {
			t.Errorf("a bad project: %v", err)
		}
	}
	h.Close(store.ErrBusy)
	for _, err := range h.Watch(t.Context(), "p") {
		if err != store.ErrBusy {
			t.Errorf("closed: %v", err)
		}
	}
}
