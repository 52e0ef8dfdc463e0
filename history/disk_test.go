package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/message"
)

// sid is the id of a session of the tests.
func sid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// exchange is the lines of a question and its answer.
func exchange(session, parent, question, answer string) string {
	before := "null"
	if parent != "" {
		before = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":"user","uuid":"q-%[2]s","sessionId":%[3]q,"cwd":"/work","gitBranch":"main","entrypoint":"cli","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%[2]q}}
{"parentUuid":"q-%[2]s","isSidechain":false,"type":"assistant","uuid":"a-%[4]s","sessionId":%[3]q,"timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m-%[4]s","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":%[4]q}]}}
`, before, question, session, answer)
}

// configWith makes a configuration directory with files. A name that begins with
// a digit is a session of the project -work.
func configWith(t testing.TB, files map[string]string) string {
	t.Helper()
	config := t.TempDir()
	for i, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(config, "projects", "-work", name)
		if strings.Contains(name, "//") {
			path = filepath.Join(config, strings.ReplaceAll(name, "//", "/"))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func list(t testing.TB, h *history.History, q history.Query) []history.SessionInfo {
	t.Helper()
	var out []history.SessionInfo
	for info, err := range h.List(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info)
	}
	return out
}

func titles(list []history.SessionInfo) string {
	var out []string
	for _, info := range list {
		out = append(out, info.Title)
	}
	return strings.Join(out, " ")
}

func TestListFilters(t *testing.T) {
	h := history.Disk(configWith(t, map[string]string{
		sid(1) + ".jsonl":         exchange(sid(1), "", "one", "1") + `{"type":"tag","tag":"x"}` + "\n",
		sid(2) + ".jsonl":         strings.ReplaceAll(exchange(sid(2), "", "two", "2"), `"cli"`, `"sdk-go"`),
		sid(3) + ".jsonl":         exchange(sid(3), "", "three", "3"),
		sid(3) + "/archived.json": `{"archived":true,"at":"2026-02-01T00:00:00Z","by":"sdk"}`,
		sid(4) + ".jsonl":         exchange(sid(4), "", "four", "4"),
		sid(4) + "/archived.json": `{"archived":true,"at":"2025-02-01T00:00:00Z","by":"sdk"}`, // a prompt came later
	}))
	tests := []struct {
		name string
		q    history.Query
		want string
	}{
		{"all, the newest first", history.Query{}, "four three two one"},
		{"limit", history.Query{Limit: 2}, "four three"},
		{"offset", history.Query{Offset: 1, Limit: 2}, "three two"},
		{"offset beyond the end", history.Query{Offset: 9}, ""},
		{"tag", history.Query{Tag: "x"}, "one"},
		{"without archived ones", history.Query{Archived: history.ArchivedExcluded}, "four two one"},
		{"archived ones", history.Query{Archived: history.ArchivedOnly}, "three"},
		{"begun by people", history.Query{SkipProgrammatic: true}, "four three one"},
		{"a directory", history.Query{Dir: "/work"}, "four three two one"},
		{"a neighbour", history.Query{Dir: "/work-y"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.q.Dir != "" {
				need.UnixPaths.Test(t)
			}
			if got := titles(list(t, h, tt.q)); got != tt.want {
				t.Errorf("listed %q, want %q", got, tt.want)
			}
		})
	}
}

// A list is read only as far as the loop runs.
func TestListIsLazy(t *testing.T) {
	files := make(map[string]string)
	for i := range 10 {
		files[sid(i)+".jsonl"] = exchange(sid(i), "", fmt.Sprint("question ", i), "yes")
	}
	config := configWith(t, files)
	seen := 0
	for _, err := range history.Disk(config).List(t.Context(), history.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 1 {
			// Sessions that are not yet read may still disappear.
			if err := os.RemoveAll(filepath.Join(config, "projects")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen != 1 {
		t.Errorf("%d sessions were read ahead", seen-1)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	for _, err := range history.Disk(configWith(t, files)).List(ctx, history.Query{}) {
		if err == nil || err.Error() != "enough" {
			t.Errorf("a list whose context has ended: %v", err)
		}
	}
}

// Files that are not sessions are skipped, and nothing is changed.
func TestBadFiles(t *testing.T) {
	good := exchange(sid(1), "", "good", "yes")
	config := configWith(t, map[string]string{
		sid(1) + ".jsonl":             good,
		sid(2) + ".jsonl":             "",
		sid(3) + ".jsonl":             "\x00\xff\xfe garbage\n\x01\x02",
		sid(4) + ".jsonl/keep":        "a directory named like a session",
		sid(5) + ".jsonl":             good[:len(good)/2],
		"notes.jsonl":                 good,
		sid(6) + ".jsonl":             `{"type":"mode","mode":"default"}` + "\n",
		sid(7) + ".jsonl":             "not JSON\n" + exchange(sid(7), "", "after garbage", "yes") + `{"type":"assistant","uuid":"cut`,
		"//outside.txt":               "secret",
		sid(8) + "/custom-title.json": strings.Repeat("x", 1<<20),
		sid(8) + ".jsonl":             exchange(sid(8), "", "big note", "yes"),
	})
	if err := os.Symlink(filepath.Join(config, "projects", "-work", sid(1)+".jsonl"), filepath.Join(config, "projects", "-work", sid(9)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, sid(10)+".jsonl"), []byte(exchange(sid(10), "", "outside", "x")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(config, "projects", "-link")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, config)
	h := history.Disk(config)
	if got := titles(list(t, h, history.Query{})); got != "big note after garbage good good" {
		t.Errorf("listed %q", got)
	}
	tr, err := h.Read(t.Context(), sid(7))
	if err != nil || tr.Skipped != 2 || tr.Len() != 2 {
		t.Errorf("a file with garbage: %+v, %v", tr, err)
	}
	if tr, err := h.Read(t.Context(), sid(3)); err != nil || tr.Len() != 0 || tr.Skipped != 2 {
		t.Errorf("nothing but garbage: %+v, %v", tr, err)
	}
	if _, err := h.Fork(t.Context(), sid(3), history.ForkOptions{}); !errors.Is(err, history.ErrEmpty) {
		t.Errorf("fork of garbage: %v", err)
	}
	for _, id := range []string{sid(2), sid(4), sid(9), sid(10), sid(11)} {
		if err := everyMethod(t.Context(), h, id); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("session %s: %v, want ErrNotFound", id, err)
		}
	}
	for _, id := range []string{"", "../x", "..", "a/b", sid(1) + "/../" + sid(1), strings.ToUpper(sid(1))[:35], "00000000-0000-4000-8000-00000000000g", sid(1) + "\x00"} {
		if err := everyMethod(t.Context(), h, id); !errors.Is(err, history.ErrInvalidID) {
			t.Errorf("session %q: %v, want ErrInvalidID", id, err)
		}
	}
	if after := tree(t, config); !maps.Equal(before, after) {
		t.Errorf("files have changed: %v, before %v", after, before)
	}
}

// everyMethod calls all methods that take an id and joins their errors; it fails
// if one of them succeeds or they disagree.
func everyMethod(ctx context.Context, h *history.History, id string) error {
	_, infoErr := h.Info(ctx, id)
	_, readErr := h.Read(ctx, id)
	_, forkErr := h.Fork(ctx, id, history.ForkOptions{})
	_, deleteErr := h.Delete(ctx, id)
	all := []error{infoErr, readErr, forkErr, deleteErr, h.Rename(ctx, id, "x"), h.Tag(ctx, id, "x"), h.Archive(ctx, id), h.Unarchive(ctx, id)}
	for i, err := range all {
		if err == nil || errors.Is(err, history.ErrNotFound) != errors.Is(all[0], history.ErrNotFound) {
			return fmt.Errorf("method %d: %v, while Info says: %v", i, err, all[0])
		}
	}
	return all[0]
}

// tree returns the files below a directory with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNoSessions(t *testing.T) {
	for _, config := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		h := history.Disk(config)
		if got := list(t, h, history.Query{}); len(got) != 0 {
			t.Errorf("listed %+v", got)
		}
		if _, err := h.Read(t.Context(), sid(1)); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("Read = %v", err)
		}
	}
}

func TestProjectsThatAreAFile(t *testing.T) {
	config := t.TempDir()
	if err := os.WriteFile(filepath.Join(config, "projects"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range history.Disk(config).List(t.Context(), history.Query{}) {
		if err == nil {
			t.Error("a file in the place of the projects was listed")
		}
	}
	if _, err := history.Disk(config).Info(t.Context(), sid(1)); err == nil {
		t.Error("a file in the place of the projects was read")
	}
}

func TestChange(t *testing.T) {
	config := configWith(t, map[string]string{
		sid(1) + ".jsonl":                                 exchange(sid(1), "", "one", "1") + `{"type":"half a line`,
		sid(1) + "/subagents/agent-abc.jsonl":             exchange(sid(1), "", "look", "seen"),
		sid(1) + "/subagents/agent-abc.meta.json":         `{"agentType":"explorer","description":"look","toolUseId":"t1","finished":true}`,
		sid(1) + "/subagents/workflows/w/agent-def.jsonl": exchange(sid(1), "", "deep", "down"),
		"//file-history/" + sid(1) + "/abc@v1":            "old contents",
		sid(2) + ".jsonl":                                 exchange(sid(2), "", "two", "2"),
	})
	h := history.Disk(config)
	ctx := t.Context()
	info := func() history.SessionInfo {
		t.Helper()
		info, err := h.Info(ctx, sid(1))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if err := h.Rename(ctx, sid(1), "  Named  "); err != nil || info().Title != "Named" {
		t.Errorf("Rename: %v, %+v", err, info())
	}
	if err := h.Rename(ctx, sid(1), " \n"); err == nil {
		t.Error("an empty title was taken")
	}
	if err := h.Tag(ctx, sid(1), "blue"); err != nil || info().Tag != "blue" {
		t.Errorf("Tag: %v, %+v", err, info())
	}
	if err := h.Tag(ctx, sid(1), "\u200b"); err == nil || info().Tag != "blue" {
		t.Errorf("a tag of nothing: %v, %+v", err, info())
	}
	if err := h.Tag(ctx, sid(1), ""); err != nil || info().Tag != "" {
		t.Errorf("no tag: %v, %+v", err, info())
	}
	if err := h.Archive(ctx, sid(1)); err != nil || !info().Archived {
		t.Errorf("Archive: %v, %+v", err, info())
	}
	if err := h.Unarchive(ctx, sid(1)); err != nil || info().Archived {
		t.Errorf("Unarchive: %v, %+v", err, info())
	}
	tr, err := h.Read(ctx, sid(1))
	if err != nil || tr.Skipped != 1 || tr.Len() != 2 {
		t.Errorf("after the changes: %+v, %v", tr, err)
	}
	checkSubagents(t, tr)

	removed, err := h.Delete(ctx, sid(1))
	if err != nil || removed.Files != 6 || removed.Bytes == 0 || len(removed.Paths) != 3 {
		t.Errorf("Delete = %+v, %v", removed, err)
	}
	for path := range tree(t, config) {
		if strings.Contains(path, sid(1)) {
			t.Errorf("%s is left", path)
		}
	}
	for _, err := range tr.Messages(ctx, history.Page{}) {
		if !errors.Is(err, history.ErrNotFound) {
			t.Errorf("messages of a session that is gone: %v", err)
		}
	}
	if got := titles(list(t, h, history.Query{})); got != "two" {
		t.Errorf("left are %q", got)
	}
}

func checkSubagents(t *testing.T, tr *history.Transcript) {
	t.Helper()
	agents, err := tr.Subagents(t.Context())
	if err != nil || len(agents) != 2 || agents[0].ID != "abc" || agents[0].Type != "explorer" || !agents[0].Finished || agents[1].ID != "def" {
		t.Errorf("Subagents = %+v, %v", agents, err)
	}
	sub, err := tr.Subagent(t.Context(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range sub.Messages(t.Context(), history.Page{Limit: 1}) {
		if u, ok := m.Message.(*message.User); err != nil || !ok || u.Text() != "look" || u.ParentToolUseID != "t1" {
			t.Errorf("the subagent was told %+v, %v", m, err)
		}
	}
	for _, id := range []string{"", "../abc", "ghi"} {
		if _, err := tr.Subagent(t.Context(), id); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("subagent %q: %v", id, err)
		}
	}
}

func TestPages(t *testing.T) {
	var file strings.Builder
	parent := ""
	for i := range 5 {
		file.WriteString(exchange(sid(1), parent, fmt.Sprint(i), fmt.Sprint(i)))
		parent = fmt.Sprint("a-", i)
	}
	tr, err := history.Disk(configWith(t, map[string]string{sid(1) + ".jsonl": file.String()})).Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[history.Page]string{
		{}:                        "q-0 a-0 q-1 a-1 q-2 a-2 q-3 a-3 q-4 a-4",
		{Limit: 3}:                "q-0 a-0 q-1",
		{Offset: 7}:               "a-3 q-4 a-4",
		{Offset: 8, Limit: 5}:     "q-4 a-4",
		{Offset: -1, Limit: 1}:    "q-0",
		{Offset: 10}:              "",
		{Limit: 1, Entries: true}: "q-0",
	} {
		messages := tr.Messages(t.Context(), page)
		for loop := range 2 { // each begins at the beginning of the page
			var got []string
			for m, err := range messages {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m.UUID)
				if json.Valid(m.Entry) != page.Entries || m.Time.IsZero() {
					t.Errorf("message %s: time %v, entry %s", m.UUID, m.Time, m.Entry)
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("loop %d over page %+v has %s, want %s", loop, page, s, want)
			}
		}
	}
	n := 0
	for e, err := range tr.Entries(t.Context()) {
		if err != nil || !strings.Contains(file.String(), string(e)+"\n") {
			t.Errorf("entry %s, %v", e, err)
		}
		n++
	}
	if n != 10 {
		t.Errorf("%d entries", n)
	}
}

// Titles that several writers set at the same time, beside a CLI that appends,
// come out whole.
func TestConcurrentChanges(t *testing.T) {
	config := configWith(t, map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1")})
	h := history.Disk(config)
	file := filepath.Join(config, "projects", "-work", sid(1)+".jsonl")
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for j := range 25 {
				if err := h.Rename(t.Context(), sid(1), fmt.Sprint("title ", i, " ", j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Go(func() {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for range 100 {
			if _, err := f.WriteString(`{"type":"last-prompt","lastPrompt":"` + strings.Repeat("x", 2000) + "\"}\n"); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		if !json.Valid([]byte(line)) {
			t.Errorf("a line was torn: %s", line)
		}
	}
	if lines != 202 {
		t.Errorf("%d lines, want 202", lines)
	}
}
