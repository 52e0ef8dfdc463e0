package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/durable"
)

// What is there is synced, even a file that may not be read.
func TestDurable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o000); err != nil {
		t.Fatal(err)
	}
	tree := func(dir string) error { return durable.Tree(dir, time.Time{}) }
	for name, sync := range map[string]func(string) error{"Dir": durable.Dir, "Tree": tree} {
		if err := sync(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tree(filepath.Join(dir, "missing")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Tree of nothing: %v", err)
	}
}
