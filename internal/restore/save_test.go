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
