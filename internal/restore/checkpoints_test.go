package restore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/test/need"
)

// What a CLI adds to the checkpoints of a restored session outlives it, and the
// next one finds it.
func TestCheckpoints(t *testing.T) {
	need.Symlinks.Test(t)
	config := filepath.Join(t.TempDir(), "home", ".claude") // not made yet
	copyOf := filepath.Join("file-history", session, "0123@v1")
	for _, want := range []string{"", "before"} {
		dir := t.TempDir()
		if err := restore.Checkpoints(dir, config); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, copyOf)); string(text) != want {
			t.Errorf("the checkpoint is %q, want %q", text, want)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, copyOf)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, copyOf), []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A session whose name is not one of a session names no folder.
func TestForgetCheckpointsOfNone(t *testing.T) {
	config := t.TempDir()
	for _, dir := range []string{"file-history/7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11", "projects/a"} {
		if err := os.MkdirAll(filepath.Join(config, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{"", ".", "..", "../projects", "x"} {
		if err := restore.ForgetCheckpoints(config, session); err == nil {
			t.Errorf("%q: no error", session)
		}
	}
	for _, dir := range []string{"file-history/7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11", "projects/a"} {
		if _, err := os.Stat(filepath.Join(config, dir)); err != nil {
			t.Error(err)
		}
	}
}
