package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/need"
)

// countedStore fails one of its calls, and notes the fences of its appends.
type countedStore struct {
	*MemoryStore
	calls, at int
	fences    []Fence
}

var errCounted = errors.New("the store is down")

func (c *countedStore) Append(ctx context.Context, k Key, b Batch) error {
	if c.calls++; c.calls == c.at {
		return errCounted
	}
	c.fences = append(c.fences, b.Fence)
	return c.MemoryStore.Append(ctx, k, b)
}

func (c *countedStore) Load(ctx context.Context, k Key, after Place) iter.Seq2[PlacedEntry, error] {
	if c.calls++; c.calls == c.at {
		return func(yield func(PlacedEntry, error) bool) { yield(PlacedEntry{}, errCounted) }
	}
	return c.MemoryStore.Load(ctx, k, after)
}

// An import that the store interrupts reports the error and how far it came; repeated, it
// leaves each entry stored once. Every write carries the fence, and the journal stays.
func TestImportJournalFaults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journals")
	main := Key{Project: "p", Session: crashKey().Session}
	j, err := CreateJournal(dir, main.Session)
	if err != nil {
		t.Fatal(err)
	}
	line := func(n int) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf(`"%d"`, n-1)
		}
		return fmt.Sprintf(`{"type":"user","uuid":"%d","parentUuid":%s}`, n, parent)
	}
	for i, b := range []struct {
		k     Key
		lines []string
	}{{main, []string{line(1), line(2)}}, {crashKey(), []string{line(1)}}, {main, []string{line(3), `{"type":"mode"}`}}} {
		batch := crashBatch(b.lines...)
		batch.ID = fmt.Sprint("batch-", i)
		if err := j.Append(b.k, batch); err != nil {
			t.Fatal(err)
		}
	}
	path := j.Path()
	for name, mode := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || need.FileModes.Here() && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != j.Size() {
		t.Errorf("%d bytes, %v, want %d", info.Size(), err, j.Size())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := line(1) + line(2) + line(3) + `{"type":"mode"}`
	for at := 1; ; at++ {
		s := &countedStore{MemoryStore: Memory(), at: at}
		lease, err := s.Acquire(t.Context(), "p", "l", "me", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ImportJournal(t.Context(), s, path, lease.Fence)
		if s.calls < at {
			if err != nil || n != 5 || len(s.fences) != 3 || at < 6 {
				t.Errorf("imported %d entries under %v, %v, with %d calls", n, s.fences, err, s.calls)
			}
			break
		}
		if !errors.Is(err, errCounted) || n != []int{0, 2, 3, 5}[len(s.fences)] {
			t.Errorf("the failure of call %d: %d entries in %d batches, %v", at, n, len(s.fences), err)
		}
		for range 2 {
			if n, err := ImportJournal(t.Context(), s, path, lease.Fence); err != nil || n != 5 {
				t.Errorf("again: %d entries, %v", n, err)
			}
		}
		if got := loaded(t, s, main); got != want {
			t.Errorf("after the failure of call %d: %s\nwant %s", at, got, want)
		}
		for _, f := range s.fences {
			if f != lease.Fence {
				t.Errorf("appended under %+v", f)
			}
		}
		if err := s.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		if _, err := ImportJournal(t.Context(), s, path, lease.Fence); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("without the lease: %v", err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the journal: %v", err)
	}
	if _, err := ImportJournal(t.Context(), Memory(), path+"x", Fence{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
}
