package e2e

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// firstMirror is the first CLI that mirrors its transcripts.
const firstMirror = "2.1.97"

// mirrored returns the real CLI with a store.
func mirrored(t *testing.T, model *claudetest.Model) (*real, *store.MemoryStore) {
	t.Helper()
	realcli.Needs(t, firstMirror, "mirrored transcripts")
	r, mem := startReal(t, model), store.Memory()
	r.opts.Store = &claude.StoreOptions{Store: mem, Project: "tenant-7", Journal: t.TempDir()}
	r.opts.PermissionMode = permission.ModeBypassPermissions
	return r, mem
}

// transcripts returns the lines of every transcript that the CLI has on disk,
// without those that it never mirrors, by session and path below it.
func (r *real) transcripts(t *testing.T) map[store.Key][]string {
	t.Helper()
	found := make(map[store.Key][]string)
	root := filepath.Join(r.home, ".claude", "projects")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		rel, err := filepath.Rel(root, strings.TrimSuffix(path, ".jsonl"))
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(filepath.ToSlash(rel), "/")
		session, sub, _ := strings.Cut(name, "/")
		data, err := os.ReadFile(path)
		for line := range bytes.Lines(data) {
			if text := strings.TrimSuffix(string(line), "\n"); !strings.HasPrefix(text, `{"type":"api-request`) {
				key := store.Key{Project: "tenant-7", Session: session, Sub: sub}
				found[key] = append(found[key], text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantSame wants the store to have what is on disk, line by line. The store
// also has what the CLI keeps beside the transcript of an agent.
func (r *real) wantSame(t *testing.T, s store.Transcripts) map[store.Key][]string {
	t.Helper()
	disk := r.transcripts(t)
	for key, want := range disk {
		var got []string
		for e, err := range store.Entries(t.Context(), s, key) {
			if err != nil {
				t.Errorf("%v: %v", key, err)
				break
			}
			if key.Sub == "" || !strings.HasPrefix(string(e), `{"type":"agent_metadata"`) {
				got = append(got, string(e))
			}
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%v has %d lines, the disk %d; line %d differs:\n%q\n%q", key, len(got), len(want), i+1, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
				break
			}
		}
	}
	return disk
}

// The store has what is on disk, line by line and byte by byte: plain turns,
// tools, subagents, renames, a compaction, and the conversation after /clear.
func TestRealStore(t *testing.T) {
	var tool, agent sync.Once // the compaction repeats every prompt
	r, mem := mirrored(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		reply := claudetest.Say("noted: <b>\u2028 & \"quotes\"")
		switch {
		case strings.Contains(c.Prompt, "use a tool"):
			tool.Do(func() {
				reply = claudetest.UseTool("Bash", map[string]any{"command": "echo hello > file && cat file", "description": "<write & read>"})
			})
		case strings.Contains(c.Prompt, "delegate"):
			agent.Do(func() { reply = claudetest.UseTools(agentCall("look: inside")) })
		}
		return reply
	}))
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	first := s.ID()
	for _, prompt := range []string{"hello", "use a tool", "delegate", "/compact", "after it", "/clear", "a new one"} {
		if _, err := s.Ask(t.Context(), prompt); err != nil {
			t.Fatalf("%s: %v", prompt, err)
		}
		if prompt == "delegate" {
			if err := s.Rename(t.Context(), "A new name"); err != nil {
				t.Error(err)
			}
		}
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := mem.Acquire(t.Context(), "tenant-7", first, "another", 1e9); !errors.Is(err, store.ErrLeased) {
		t.Errorf("the lease of a session that runs: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	disk := r.wantSame(t, mem)
	sessions, subs := 0, 0
	for key := range disk {
		if key.Sub == "" {
			sessions++
		} else {
			subs++
		}
	}
	if sessions != 2 || subs == 0 {
		t.Errorf("%d sessions and %d subagents, want two and some", sessions, subs)
	}
	text := strings.Join(disk[store.Key{Project: "tenant-7", Session: first}], "\n")
	for _, want := range []string{`"customTitle":"A new name"`, `"subtype":"compact_boundary"`, `"type":"tool_use"`, `"type":"cost-state"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the transcript has no %s", want)
		}
	}
}

// Abort kills the CLI in the middle of a turn, and with it what it has started.
func TestRealAbort(t *testing.T) {
	r, _ := mirrored(t, claudetest.NewModel(claudetest.UseTool("Bash", map[string]any{"command": "touch begun && sleep 600"})))
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	go func() {
		for s.State() == claude.StateRunning {
			if _, err := os.Stat(filepath.Join(r.dir, "begun")); err == nil {
				s.Abort(enough)
			}
			<-time.After(10 * time.Millisecond)
		}
	}()
	if err := harness.LastError(s.Run(t.Context(), "work")); !errors.Is(err, enough) {
		t.Errorf("Run ended with %v", err)
	}
	if err := s.Wait(); !errors.Is(err, enough) {
		t.Errorf("Wait = %v", err)
	}
}

// flakyStore is a store that can be taken down.
type flakyStore struct {
	*store.MemoryStore
	down atomic.Bool
}

func (u *flakyStore) Renew(ctx context.Context, l store.Lease) error {
	if u.down.Load() {
		return errors.New("connection refused")
	}
	return u.MemoryStore.Renew(ctx, l)
}

func (u *flakyStore) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if u.down.Load() {
		return errors.New("connection refused")
	}
	return u.MemoryStore.Append(ctx, k, b)
}

// A store that is down for half a minute in the middle of a session costs nothing
// but time: a strict session waits with its answer, another one does not. That is
// as long as a lease lasts, and beyond the longest pause between two attempts. The
// two wait at the same time, beside other tests.
func TestRealStoreDown(t *testing.T) {
	t.Parallel()
	for _, flush := range []store.Flush{store.Strict, store.Eventually} {
		t.Run(flush.String(), func(t *testing.T) {
			t.Parallel()
			r, mem := mirrored(t, claudetest.NewModel(claudetest.Say("one"), claudetest.Say("two"), claudetest.Say("three")))
			u := &flakyStore{MemoryStore: mem}
			r.opts.Store.Store, r.opts.Store.Flush = u, flush
			s := r.connect(t)
			if _, err := s.Ask(t.Context(), "first"); err != nil {
				t.Fatal(err)
			}
			u.down.Store(true)
			const away = 30 * time.Second
			begin := time.Now()
			back := time.AfterFunc(away, func() { u.down.Store(false) })
			defer back.Stop()
			if _, err := s.Ask(t.Context(), "second"); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); flush == store.Strict && took < away {
				t.Errorf("the answer came after %v, the store was back after %v", took, away)
			}
			if _, err := s.Ask(t.Context(), "third"); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); flush == store.Eventually && took >= away {
				t.Errorf("two answers came after %v: they waited for the store", took)
			}
			if err := s.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			r.wantSame(t, mem)
			if left, _ := os.ReadDir(r.opts.Store.Journal); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// A store that is gone for good loses nothing: the error names the journal,
// which has what the store lacks.
func TestRealStoreGone(t *testing.T) {
	r, mem := mirrored(t, claudetest.NewModel(claudetest.Say("one"), claudetest.Say("two")))
	u := &flakyStore{MemoryStore: mem}
	r.opts.Store.Store, r.opts.Store.GiveUp = u, time.Second
	r.opts.Timeouts.Flush = time.Second
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	u.down.Store(true)
	res, err := s.Ask(t.Context(), "second")
	if res == nil || res.Text != "two" || !errors.Is(err, store.ErrNotStored) {
		t.Errorf("Ask = %v, %v; want an answer that is not stored", res, err)
	}
	missing, ok := errors.AsType[*store.NotStoredError](s.Close())
	if !ok || missing.Journal == "" {
		t.Fatalf("Close = %v", missing)
	}
	u.down.Store(false)
	if _, err := store.ImportJournal(t.Context(), u, missing.Journal, store.Fence{}); err != nil {
		t.Error(err)
	}
	r.wantSame(t, mem)
}

// A journal that is imported after the session was continued without it hides nothing from the
// model: it is refused, and the next turn reads what was said since.
func TestRealJournalOvertaken(t *testing.T) {
	t.Parallel()
	r, mem := mirrored(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say("re: " + c.Prompt)
	}))
	u := &flakyStore{MemoryStore: mem}
	r.opts.Store.Store, r.opts.Store.GiveUp = u, time.Second
	r.opts.Timeouts.Flush = time.Second
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	u.down.Store(true)
	if _, err := s.Ask(t.Context(), "second"); !errors.Is(err, store.ErrNotStored) {
		t.Fatalf("Ask = %v", err)
	}
	missing, ok := errors.AsType[*store.NotStoredError](s.Close())
	if !ok || missing.Journal == "" {
		t.Fatalf("Close = %v", missing)
	}
	u.down.Store(false)
	r.opts.Resume, r.opts.SessionID = s.ID(), ""
	ask := func(prompt string) {
		t.Helper()
		s, err := claude.Connect(t.Context(), r.opts)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := s.Ask(t.Context(), prompt); err != nil || res.Text != "re: "+prompt {
			t.Errorf("Ask = %v, %v", res, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	ask("third")
	if n, err := store.ImportJournal(t.Context(), u, missing.Journal, store.Fence{}); n != 0 || !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("ImportJournal = %d, %v", n, err)
	}
	ask("fourth")
	calls := r.calls()
	read := string(calls[len(calls)-1].Raw)
	for text, want := range map[string]bool{"re: first": true, "re: second": false, "re: third": true} {
		if strings.Contains(read, text) != want {
			t.Errorf("the model reads %q: %v, want %v", text, !want, want)
		}
	}
}
