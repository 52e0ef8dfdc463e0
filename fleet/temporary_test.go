package fleet_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// leftBehind makes a folder such as a killed program leaves.
func leftBehind(t *testing.T, in string) string {
	t.Helper()
	dir := filepath.Join(in, "claude-session-ABCDEFGH2345")
	if err := os.MkdirAll(filepath.Join(dir, "tmp", "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, long, long); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Files that a killed program has left in the directory that CLAUDE_CODE_TMPDIR names
// are removed by the next fleet that opens, whether the variable is the process's or in
// the options.
func TestSweepsChosenDirectory(t *testing.T) {
	own, chosen := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CODE_TMPDIR", own)
	db := store.Memory()
	client := open(t, db, nil, withoutCLIs)
	if _, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	closeFleet(t, client)
	left := []string{leftBehind(t, own), leftBehind(t, chosen)}
	f := open(t, db, newScripted(), func(o *fleet.Options) {
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			opts, err := usual(ctx, key)
			opts.Env = []string{"HOME=/home/a", "CLAUDE_CODE_TMPDIR=" + chosen}
			return opts, err
		}
	})
	defer closeFleet(t, f)
	for _, dir := range left {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// Files that the CLI of a killed program makes again after the first sweep are removed
// by a later one, though nothing is done in the meantime.
func TestSweepsWhatIsMadeAgain(t *testing.T) {
	own := t.TempDir()
	t.Setenv("CLAUDE_CODE_TMPDIR", own)
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		<-time.After(30 * time.Second)
		dir := leftBehind(t, own)
		now := time.Now()
		if err := os.Chtimes(dir, now, now); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Minute)
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	})
}
