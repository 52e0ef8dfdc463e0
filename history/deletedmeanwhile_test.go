package history_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// lookedAt is a context that calls a function whenever someone asks whether it has ended:
// History does that between finding a session and changing it.
type lookedAt struct {
	context.Context
	do func()
}

func (c lookedAt) Err() error {
	c.do()
	return c.Context.Err()
}

// A session that is deleted while it is renamed or tagged stays deleted.
func TestDeletedWhileItIsChanged(t *testing.T) {
	for name, change := range map[string]func(h *history.History, ctx context.Context) error{
		"rename": func(h *history.History, ctx context.Context) error { return h.Rename(ctx, sid(1), "a title") },
		"tag":    func(h *history.History, ctx context.Context) error { return h.Tag(ctx, sid(1), "a tag") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "projects", "-work", sid(1)+".jsonl")
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(exchange(sid(1), "", "hello", "hi")), 0o600)); err != nil {
				t.Fatal(err)
			}
			deleted := false
			err := change(history.Disk(dir), lookedAt{t.Context(), func() { deleted = os.Remove(file) == nil || deleted }})
			if !deleted || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("deleted %t, %v", deleted, err)
			}
			if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is there again: %v", err)
			}
		})
	}
}
