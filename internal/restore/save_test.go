package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// broken is a store that takes a number of batches.
type broken struct {
	*store.MemoryStore
	left int
}

var errBroken = errors.New("broken")

func (b *broken) Append(ctx context.Context, k store.Key, batch store.Batch) error {
	if b.left--; b.left < 0 {
		return errBroken
	}
	return b.MemoryStore.Append(ctx, k, batch)
}

// A copy that breaks off, wherever that is, can be repeated, and the store then has
// everything once.
func TestSaveAgain(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	dir := t.TempDir()
	base := filepath.Join(dir, "projects", "-work")
	if err := os.MkdirAll(filepath.Join(base, id, "subagents"), 0o700); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	const n = 2*batchEntries + 7
	for i := range n {
		lines = fmt.Appendf(lines, `{"type":"mode","mode":"%d"}`+"\n", i%3) // without a uuid: nothing else tells them apart
	}
	for name, text := range map[string]string{
		id + ".jsonl": string(lines), id + "/subagents/agent-a.jsonl": string(lines), id + "/subagents/agent-a.meta.json": `{"agentType":"x"}`,
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for taken := range 7 {
		s := &broken{store.Memory(), taken}
		source := Source{s, "p"}
		_, err := source.Save(t.Context(), root, "-work", id, "first")
		if whole := taken == 6; whole != (err == nil) || err != nil && !errors.Is(err, errBroken) {
			t.Fatalf("%d batches: %v", taken, err)
		}
		s.left = 100
		if _, err := source.Save(t.Context(), root, "-work", id, "second"); err != nil {
			t.Fatalf("again after %d batches: %v", taken, err)
		}
		for sub, want := range map[string]int{"": n, "subagents/agent-a": n + 1} {
			got := 0
			for _, err := range store.Entries(t.Context(), s, store.Key{Project: "p", Session: id, Sub: sub}) {
				if err != nil {
					t.Fatal(err)
				}
				got++
			}
			if got != want {
				t.Errorf("after %d batches %q has %d entries, want %d", taken, sub, got, want)
			}
		}
	}
}

// leaving is a store whose user gives up while the first batch is written. Like a
// database, it does nothing for a context that has ended.
type leaving struct {
	*store.MemoryStore
	leave func()
}

func (l *leaving) Append(ctx context.Context, _ store.Key, _ store.Batch) error {
	l.leave()
	return ctx.Err()
}

func (l *leaving) Release(ctx context.Context, lease store.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.MemoryStore.Release(ctx, lease)
}

// A copy whose user gives up leaves no lease behind, so that it can be tried again at once.
func TestSaveGivenUp(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	dir := t.TempDir()
	base := filepath.Join(dir, "projects", "-work")
	if err := os.MkdirAll(base, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, id+".jsonl"), []byte(`{"type":"mode","mode":"plan"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(t.Context())
	db := store.Memory()
	if _, err := (Source{&leaving{db, cancel}, "p"}).Save(ctx, root, "-work", id, "first"); !errors.Is(err, context.Canceled) {
		t.Fatalf("the user who gave up got %v", err)
	}
	if saved, err := (Source{db, "p"}).Save(t.Context(), root, "-work", id, "second"); err != nil || saved.Entries != 1 {
		t.Errorf("again: %+v, %v", saved, err)
	}
}
