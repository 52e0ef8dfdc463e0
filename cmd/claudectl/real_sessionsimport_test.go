package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// brokenStore is a store of files that takes nothing any more once it is down.
type brokenStore struct {
	*store.FileStore
	down atomic.Bool
}

func (b *brokenStore) Append(ctx context.Context, k store.Key, batch store.Batch) error {
	if b.down.Load() {
		return errors.New("stale file handle")
	}
	return b.FileStore.Append(ctx, k, batch)
}

// A store goes down for good in the middle of a session. The error names the
// journal, and "claudectl sessions import" with that name restores everything: the
// session continues from the store, on another machine, and the model hears all of
// it.
func TestRealSessionsImportJournal(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("noted") })
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	dir := t.TempDir()
	broken := &brokenStore{FileStore: store.Files(dir)}
	s, err := claude.Connect(t.Context(), &claude.Options{
		CLIPath: cli, Env: env, Cwd: t.TempDir(), Logger: harness.Logger(t),
		Store:    &claude.StoreOptions{Store: broken, Project: "default", GiveUp: time.Second, Journal: t.TempDir()},
		Timeouts: claude.Timeouts{Flush: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "the first"); err != nil {
		t.Fatal(err)
	}
	broken.down.Store(true)
	for _, prompt := range []string{"the second", "the third"} {
		if res, err := s.Ask(t.Context(), prompt); res == nil || !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Ask = %v, %v; want an answer that is not stored", res, err)
		}
	}
	err = s.Close()
	missing, ok := errors.AsType[*store.NotStoredError](err)
	if !ok || missing.Journal == "" || !strings.Contains(err.Error(), missing.Journal) {
		t.Fatalf("Close = %v; want an error that names the journal", err)
	}
	for range 2 { // a second time it changes nothing
		if got := manage(t, t.TempDir(), "import", missing.Journal, "--store", dir); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	other := t.TempDir()
	if got := manage(t, other, "import", s.ID(), "--store", dir); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantFiles(t, files(t, other), mirroredFiles(t, filepath.Join(home, ".claude")))
	env, _ = realcli.Env(t, base)
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"run", "--cli", cli, "--cwd", t.TempDir(), "--store", dir, "--resume", s.ID(), "the fourth"}, strings.NewReader(""), &stdout, &stderr, env); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr.String())
	}
	calls := model.Calls()
	heard := string(calls[len(calls)-1].Raw)
	for _, prompt := range []string{"the first", "the second", "the third", "the fourth"} {
		if !strings.Contains(heard, prompt) {
			t.Errorf("the model did not hear %q", prompt)
		}
	}
}

// mirroredFiles is files without the lines that the CLI never mirrors.
func mirroredFiles(t *testing.T, config string) map[string]string {
	found := files(t, config)
	for name, text := range found {
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, `{"type":"api-request`) {
				kept.WriteString(line)
			}
		}
		found[name] = kept.String()
	}
	return found
}
