package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/store"
)

// A session that cannot be taken from its store is not started: the error gives
// the reason, and neither files nor a lease are left.
func TestResumeFromStoreRefused(t *testing.T) {
	leak.TempFolder(t, t.TempDir())
	other := store.Key{Project: "tenant-7", Session: "00000000-0000-4000-8000-000000000009"}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, s *store.MemoryStore)
		change  func(o *claude.Options)
		want    []error
	}{
		"unknown":             {want: []error{claude.ErrNoSession, store.ErrNotFound}},
		"nothing to continue": {change: func(o *claude.Options) { o.Resume, o.Continue = "", true }, want: []error{claude.ErrNoSession, store.ErrNotFound}},
		"damaged": {prepare: func(t *testing.T, s *store.MemoryStore) {
			put(t, s, mainKey, `{"uuid":"b","parentUuid":"a"}`)
		}, want: []error{claude.ErrStore, store.ErrDamaged}},
		"held": {prepare: func(t *testing.T, s *store.MemoryStore) {
			put(t, s, mainKey, `{"uuid":"a"}`)
			if _, err := s.Acquire(t.Context(), "tenant-7", mainKey.Session, "another", time.Minute); err != nil {
				t.Fatal(err)
			}
		}, want: []error{claude.ErrStore, store.ErrLeased}},
		"a fork of nothing": {prepare: func(t *testing.T, s *store.MemoryStore) { put(t, s, other, `{"uuid":"a"}`) },
			change: func(o *claude.Options) { o.ForkSession = true }, want: []error{claude.ErrNoSession}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := store.Memory()
			if tt.prepare != nil {
				tt.prepare(t, mem)
			}
			d := &double{t: t, play: func(*cli) { t.Error("the CLI was started") }}
			o := &claude.Options{Transport: d, Logger: harness.Logger(t), Resume: mainKey.Session,
				Store: &claude.StoreOptions{Store: mem, Project: "tenant-7", Journal: t.TempDir()}}
			if tt.change != nil {
				tt.change(o)
			}
			_, err := claude.Connect(t.Context(), o)
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("error = %v, want %v", err, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "claude-session-*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
			if name == "held" {
				return
			}
			if _, err := mem.Acquire(t.Context(), "tenant-7", mainKey.Session, "next", time.Minute); err != nil {
				t.Errorf("the lease is still held: %v", err)
			}
		})
	}
	o := claude.Options{Continue: true, Store: &claude.StoreOptions{Store: store.Basic{}, Project: "tenant-7"}}
	_, err := claude.Connect(t.Context(), &o)
	if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != "Continue" {
		t.Errorf("a store that cannot list: %v", err)
	}
}

func put(t *testing.T, s store.Transcripts, k store.Key, lines ...string) {
	t.Helper()
	var entries []store.Entry
	for _, line := range lines {
		entries = append(entries, store.Entry(line))
	}
	if err := s.Append(t.Context(), k, store.Batch{Entries: entries}); err != nil {
		t.Fatal(err)
	}
}

// The CLI is given the session in a directory of its own, which is its
// configuration directory in place of any other, and is gone at the end. The last
// session is named, since the CLI could not find it.
func TestResumeFromStoreLaunch(t *testing.T) {
	home, config := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(`{"model":"opus"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const line = `{"type":"user","uuid":"a","parentUuid":null}`
	mem := store.Memory()
	put(t, mem, mainKey, line)
	o := claude.Options{Continue: true, Env: []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + config}, Store: &claude.StoreOptions{Store: mem, Project: "tenant-7", Journal: t.TempDir()}}
	var dir string
	d := &double{t: t}
	d.play = func(c *cli) {
		c.greet()
		for _, entry := range d.launch.Env {
			if value, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok {
				if dir != "" {
					c.t.Error("the directory is named twice")
				}
				dir = value
			}
		}
		found, _ := filepath.Glob(filepath.Join(dir, "projects", "*", mainKey.Session+".jsonl"))
		if len(found) != 1 || readFile(found[0]) != line+"\n" || readFile(filepath.Join(dir, "settings.json")) != `{"model":"opus"}` {
			c.t.Errorf("the transcripts in %q are %q", dir, found)
		}
		c.idle()
	}
	o.Transport, o.Logger = d, harness.Logger(t)
	s := connect(t, &o)
	if s.ID() != mainKey.Session || !slices.Contains(d.launch.Args, "--resume="+mainKey.Session) || slices.Contains(d.launch.Args, "--continue") {
		t.Errorf("session %q was started with %q", s.ID(), d.launch.Args)
	}
	finish(t, s)
	if _, err := os.Stat(dir); dir == "" || dir == config || err == nil {
		t.Errorf("the directory %q is still there", dir)
	}
}

func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}
