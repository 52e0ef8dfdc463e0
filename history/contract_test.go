package history_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A home is a place that can hold sessions: the answers of history must not
// depend on it.
type home struct {
	name string
	// open returns the history of a new place and a function that puts a
	// transcript there; sub is "" or the id of a subagent.
	open func(t *testing.T) (h *history.History, put func(session, sub, text string))
}

func homes() []home {
	return []home{
		{"disk", func(t *testing.T) (*history.History, func(session, sub, text string)) {
			config := t.TempDir()
			return history.Disk(config), func(session, sub, text string) {
				t.Helper()
				file := filepath.Join(config, "projects", "-work", session+".jsonl")
				if sub != "" {
					file = filepath.Join(config, "projects", "-work", session, "subagents", "agent-"+sub+".jsonl")
					note := `{"agentType":"explorer","description":"look","toolUseId":"t1","finished":true}`
					if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(strings.TrimSuffix(file, ".jsonl")+".meta.json", []byte(note), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"memory", func(t *testing.T) (*history.History, func(session, sub, text string)) {
			return inStore(t, store.Memory())
		}},
		{"files", func(t *testing.T) (*history.History, func(session, sub, text string)) {
			return inStore(t, store.Files(t.TempDir()))
		}},
		{"no summaries", func(t *testing.T) (*history.History, func(session, sub, text string)) {
			return inStore(t, plainStore{store.Memory()})
		}},
	}
}

// plainStore is a store without summaries.
type plainStore struct{ store.Transcripts }

func (p plainStore) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for s, err := range p.Transcripts.List(ctx, project) {
			if s.Data = nil; !yield(s, err) {
				return
			}
		}
	}
}

// inStore is a history in a store.
func inStore(t *testing.T, s store.Transcripts) (*history.History, func(session, sub, text string)) {
	return history.In(s, "tenant"), func(session, sub, text string) {
		t.Helper()
		k := store.Key{Project: "tenant", Session: session}
		var b store.Batch
		if sub != "" {
			k.Sub = "subagents/agent-" + sub
			b.Entries = append(b.Entries, store.Entry(`{"type":"agent_metadata","agentType":"explorer","description":"look","toolUseId":"t1","finished":true}`))
		}
		for line := range strings.Lines(text) {
			b.Entries = append(b.Entries, store.Entry(strings.TrimSpace(line)))
		}
		if err := s.Append(t.Context(), k, b); err != nil {
			t.Fatal(err)
		}
	}
}

// History behaves the same on disk and in any store.
func TestContract(t *testing.T) {
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			put(sid(1), "", lengthened(exchange(sid(1), "", "one", "1")+exchange(sid(1), "a-1", "two", "2")))
			put(sid(1), "abc", lengthened(exchange(sid(1), "", "look", "seen")))
			put(sid(2), "", lengthened(exchange(sid(2), "", "other", "3")))
			put(sid(3), "", `{"type":"mode","mode":"default"}`+"\n")
			contractList(t, h)
			contractRead(t, h)
			contractChange(t, h)
			contractFork(t, h)
			contractDelete(t, h)
			contractErrors(t, h)
		})
	}
}

// lengthened gives the messages of exchange ids of the length that the CLI's have: only
// such are replaced in a copy.
func lengthened(text string) string {
	return strings.NewReplacer(`"q-one"`, `"`+sid(101)+`"`, `"a-1"`, `"`+sid(102)+`"`, `"q-two"`, `"`+sid(103)+`"`, `"a-2"`, `"`+sid(104)+`"`).Replace(text)
}

func contractList(t *testing.T, h *history.History) {
	t.Helper()
	for _, tt := range []struct {
		query history.Query
		want  int
	}{
		{history.Query{}, 2}, {history.Query{Limit: 1}, 1}, {history.Query{Offset: 1}, 1}, {history.Query{Offset: 9}, 0},
		{history.Query{Dir: "/work", SkipWorktrees: true}, 2}, {history.Query{Dir: "/elsewhere", SkipWorktrees: true}, 0},
		{history.Query{Tag: "none"}, 0}, {history.Query{Archived: history.ArchivedOnly}, 0},
	} {
		if tt.query.Dir != "" && !need.UnixPaths.Here() {
			continue
		}
		if got := list(t, h, tt.query); len(got) != tt.want {
			t.Errorf("%+v: %d sessions, want %d", tt.query, len(got), tt.want)
		}
	}
	info, err := h.Info(t.Context(), sid(1))
	if err != nil || info.ID != sid(1) || info.Title != "one" || info.FirstPrompt != "one" || info.Dir != "/work" || info.Branch != "main" || info.Entrypoint != "cli" || info.Created.IsZero() || info.Modified.IsZero() || info.Size == 0 {
		t.Errorf("Info = %+v, %v", info, err)
	}
	if _, err := h.Info(t.Context(), sid(3)); !errors.Is(err, history.ErrEmpty) {
		t.Errorf("nothing to show: %v", err)
	}
}

func contractRead(t *testing.T, h *history.History) {
	t.Helper()
	tr, err := h.Read(t.Context(), sid(1))
	if err != nil || tr.Len() != 4 || tr.Prompts() != 2 || tr.Skipped != 0 {
		t.Fatalf("Read = %+v, %v", tr, err)
	}
	var ids []string
	for m, err := range tr.Messages(t.Context(), history.Page{Offset: 1, Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.UUID)
	}
	if got := strings.Join(ids, " "); got != sid(102)+" "+sid(103) {
		t.Errorf("messages %s", got)
	}
	n := 0
	for line, err := range tr.Entries(t.Context()) {
		if err != nil || !strings.HasPrefix(string(line), "{") {
			t.Errorf("entry %s, %v", line, err)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d entries", n)
	}
	if s, _ := tr.PromptState(sid(103)); s != history.PromptAnswered {
		t.Errorf("the prompt is %v", s)
	}
	agents, err := tr.Subagents(t.Context())
	if err != nil || len(agents) != 1 || agents[0].ID != "abc" || agents[0].Type != "explorer" || agents[0].ToolUseID != "t1" || !agents[0].Finished {
		t.Errorf("Subagents = %+v, %v", agents, err)
	}
	sub, err := tr.Subagent(t.Context(), "abc")
	if err != nil || sub.Len() != 2 {
		t.Fatalf("Subagent = %+v, %v", sub, err)
	}
	for m, err := range sub.Messages(t.Context(), history.Page{Limit: 1}) {
		if u, ok := m.Message.(*message.User); err != nil || !ok || u.Text() != "look" || u.ParentToolUseID != "t1" {
			t.Errorf("the subagent was told %+v, %v", m, err)
		}
	}
	if _, err := tr.Subagent(t.Context(), "../abc"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("another subagent: %v", err)
	}
}

func contractChange(t *testing.T, h *history.History) {
	t.Helper()
	ctx := t.Context()
	for i, change := range []func() error{
		func() error { return h.Rename(ctx, sid(1), " Named ") },
		func() error { return h.Tag(ctx, sid(1), "blue") },
		func() error { return h.Archive(ctx, sid(1)) },
	} {
		if err := change(); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
	}
	info, err := h.Info(ctx, sid(1))
	if err != nil || info.Title != "Named" || info.CustomTitle != "Named" || info.Tag != "blue" || !info.Archived {
		t.Errorf("changed: %+v, %v", info, err)
	}
	if got := list(t, h, history.Query{Tag: "blue", Archived: history.ArchivedOnly}); len(got) != 1 || got[0].Title != "Named" {
		t.Errorf("listed %+v", got)
	}
	if got := list(t, h, history.Query{Archived: history.ArchivedExcluded}); len(got) != 1 || got[0].ID != sid(2) {
		t.Errorf("listed %+v", got)
	}
	if err := errors.Join(h.Unarchive(ctx, sid(1)), h.Tag(ctx, sid(1), "")); err != nil {
		t.Error(err)
	}
	if info, err := h.Info(ctx, sid(1)); err != nil || info.Tag != "" || info.Archived {
		t.Errorf("taken away: %+v, %v", info, err)
	}
	if h.Rename(ctx, sid(1), " ") == nil || h.Tag(ctx, sid(1), "\u200b") == nil {
		t.Error("an empty title or tag was taken")
	}
}

func contractFork(t *testing.T, h *history.History) {
	t.Helper()
	fork, err := h.Fork(t.Context(), sid(1), history.ForkOptions{UpTo: sid(102)})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := h.Read(t.Context(), fork)
	if err != nil || tr.Len() != 2 || fork == sid(1) {
		t.Errorf("the fork has %+v, %v", tr, err)
	}
	if info, err := h.Info(t.Context(), fork); err != nil || info.Title != "Named (fork)" {
		t.Errorf("the fork is %+v, %v", info, err)
	}
	if _, err := h.Fork(t.Context(), sid(1), history.ForkOptions{UpTo: "gone"}); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("up to a message that is not there: %v", err)
	}
	if _, err := h.Fork(t.Context(), sid(3), history.ForkOptions{}); !errors.Is(err, history.ErrEmpty) {
		t.Errorf("a fork of nothing: %v", err)
	}
	if _, err := h.Delete(t.Context(), fork); err != nil {
		t.Error(err)
	}
	chosen := history.ForkOptions{ID: sid(77)}
	if fork, err := h.Fork(t.Context(), sid(1), chosen); err != nil || fork != sid(77) {
		t.Errorf("a fork with an id: %q, %v", fork, err)
	}
	before, err := h.Read(t.Context(), sid(77))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{sid(77), sid(1)} {
		if _, err := h.Fork(t.Context(), sid(1), history.ForkOptions{ID: id}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a fork with the id of a session: %v", err)
		}
	}
	if after, err := h.Read(t.Context(), sid(77)); err != nil || after.Len() != before.Len() {
		t.Errorf("the first fork has %+v, %v", after, err)
	}
	if _, err := h.Fork(t.Context(), sid(1), history.ForkOptions{ID: "../x"}); !errors.Is(err, history.ErrInvalidID) {
		t.Errorf("a fork with a bad id: %v", err)
	}
	if _, err := h.Delete(t.Context(), sid(77)); err != nil {
		t.Error(err)
	}
}

func contractDelete(t *testing.T, h *history.History) {
	t.Helper()
	removed, err := h.Delete(t.Context(), sid(1))
	if err != nil || removed.Files < 2 || removed.Bytes == 0 || len(removed.Paths) != 2 {
		t.Errorf("Delete = %+v, %v", removed, err)
	}
	if got := list(t, h, history.Query{}); len(got) != 1 || got[0].ID != sid(2) {
		t.Errorf("left are %+v", got)
	}
}

func contractErrors(t *testing.T, h *history.History) {
	t.Helper()
	for id, want := range map[string]error{sid(1): history.ErrNotFound, sid(99): history.ErrNotFound, "": history.ErrInvalidID, "../x": history.ErrInvalidID, sid(1) + "\x00": history.ErrInvalidID} {
		if err := everyMethod(t.Context(), h, id); !errors.Is(err, want) {
			t.Errorf("session %q: %v, want %v", id, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range h.List(ctx, history.Query{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a list that was given up: %v", err)
		}
	}
}

// A store that cannot list or delete reports that, and an invalid project is
// refused.
func TestStoresThatCannot(t *testing.T) {
	h := history.In(struct{ store.Transcripts }{store.Memory()}, "tenant")
	_, put := inStore(t, store.Memory())
	put(sid(1), "", exchange(sid(1), "", "one", "1"))
	for _, err := range h.List(t.Context(), history.Query{}) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("List: %v", err)
		}
	}
	for _, project := range []string{"", "../x", strings.Repeat("x", 500)} {
		h := history.In(store.Memory(), project)
		for _, err := range h.List(t.Context(), history.Query{}) {
			if _, ok := errors.AsType[*store.KeyError](err); !ok {
				t.Errorf("project %.10q: List: %v", project, err)
			}
		}
		if _, err := h.Read(t.Context(), sid(1)); err == nil {
			t.Errorf("project %.10q was read", fmt.Sprint(project))
		}
	}
}
