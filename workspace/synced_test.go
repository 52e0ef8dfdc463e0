package workspace

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// A disk that does not reply holds up a save and a restore for no longer than Timeout, and
// saves that are tried again and again keep a bounded number of syncs waiting.
func TestDiskThatHangs(t *testing.T) {
	first, second := states()
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t)
		there := open(t, s.worker(t, t.TempDir()), "k")
		write(t, there.Path(), first)
		save(t, there)
		old := readTree(t, there.Path())

		reply, begun := make(chan struct{}), new(atomic.Int32)
		w := s.worker(t, t.TempDir(), func(o *SnapshotOptions) {
			o.Timeout = time.Minute
			o.sync = func(string, time.Time) error {
				begun.Add(1)
				<-reply
				return nil
			}
		})
		start := time.Now()
		if _, err := w.Open(t.Context(), "k"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("restore: %v after %v", err, time.Since(start))
		}
		d := open(t, w, "new")
		write(t, d.Path(), second)
		for n := range maxSyncs + 5 {
			start := time.Now()
			if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Fatalf("save %d: %v after %v", n, err, time.Since(start))
			}
		}
		if got := begun.Load(); got != maxSyncs {
			t.Errorf("%d syncs wait for the disk, want %d", got, maxSyncs)
		}
		close(reply)
		save(t, d)
		wantTree(t, "when the disk replies", open(t, w, "k").Path(), old)
	})
}

// A disk that hangs stops neither the other worktrees of the process, nor longer than Timeout
// the one that waits for it.
func TestHangingDiskStopsNoOtherWorktree(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	a, b := c.machine(), c.machine()
	d := open(t, c.on(a), "k")
	work(t, d)
	save(t, d)
	want := seen(t, d)
	synctest.Test(t, func(t *testing.T) {
		reply := make(chan struct{})
		s := c.on(b, func(o *SnapshotOptions) {
			o.Timeout = time.Minute
			o.sync = func(dir string, _ time.Time) error {
				if dir == o.Worktrees.common {
					<-reply
				}
				return nil
			}
		})
		w := s.Worktrees
		w.o.Timeout = time.Minute
		w.sync = func(f *os.File) error {
			if strings.Contains(f.Name(), nameOf("stuck")) {
				<-reply
			}
			return nil
		}
		open(t, w, "old")
		var all sync.WaitGroup
		hang := func(key string, p Provider) {
			all.Go(func() {
				start := time.Now()
				if _, err := p.Open(t.Context(), key); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
					t.Errorf("%s: %v after %v", key, err, time.Since(start))
				}
			})
		}
		hang("k", s)     // while a restored worktree is synced
		hang("stuck", w) // while the mark of a new one is
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := w.Open(ctx, "new"); err != nil {
			t.Errorf("a new worktree: %v", err)
		}
		if err := w.Remove(ctx, "old", store.Fence{}); err != nil {
			t.Errorf("removal: %v", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("they waited %v", waited)
		}
		// The wait for a turn ends with the context.
		if err := w.changes.take(ctx); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"a new worktree": second(w.Open(ctx, "later")), "removal": w.Remove(ctx, "new", store.Fence{}), "a restore": second(s.Open(ctx, "k")),
		} {
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 30*time.Second {
				t.Errorf("%s behind another: %v after %v", what, err, time.Since(start))
			}
		}
		w.changes.end()
		all.Wait()
		close(reply)
		for _, key := range []string{"stuck", "new", "later"} {
			open(t, w, key)
		}
		wantSeen(t, "when the disk replies", open(t, s, "k"), want)
	})
}

func second(_ Workdir, err error) error { return err }

// A save syncs what has changed since the last sync began, and everything if that is not
// known. A save without changes syncs nothing, and moves no time.
func TestSyncSince(t *testing.T) {
	s := newShared(t)
	type call struct {
		dir   string
		since time.Time
	}
	var calls []call
	root := t.TempDir()
	on := func(root string) *Snapshots {
		return s.worker(t, root, func(o *SnapshotOptions) {
			o.sync = func(dir string, since time.Time) error { calls = append(calls, call{dir, since}); return nil }
		})
	}
	want := func(what string, n int, from, to time.Time) {
		t.Helper()
		if len(calls) != n || n > 0 && (calls[0].since.Before(from) || calls[0].since.After(to)) {
			t.Errorf("%s: it syncs %v, want %d since %v to %v", what, calls, n, from, to)
		}
		calls = nil
	}
	d := open(t, on(root), "k")
	write(t, d.Path(), map[string]string{"f": "1"})
	began := time.Now().Truncate(time.Nanosecond)
	save(t, d)
	ended := time.Now()
	want("the first save", 1, time.Time{}, time.Time{})
	save(t, d)
	want("no change", 0, time.Time{}, time.Time{})
	write(t, d.Path(), map[string]string{"f": "22"})
	save(t, d)
	want("a change", 1, began, ended)
	other := t.TempDir()
	began = time.Now().Truncate(time.Nanosecond)
	d = open(t, on(other), "k")
	ended = time.Now()
	want("a restore", 1, time.Time{}, time.Time{})
	write(t, d.Path(), map[string]string{"f": "333"})
	save(t, open(t, on(other), "k")) // the next process
	want("a save after a restore", 1, began, ended)
}
