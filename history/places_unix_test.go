//go:build unix

package history_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// The default places of sessions.
func TestConfigDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	for _, c := range []struct{ dir, env, want string }{
		{"/x", "/y", "/x"}, {"", "/y", "/y"}, {"", "", filepath.Join(home, ".claude")},
	} {
		t.Setenv("CLAUDE_CONFIG_DIR", c.env)
		if got := history.Disk(c.dir).ConfigDir(); got != c.want {
			t.Errorf("%q, with %q in the environment: %s", c.dir, c.env, got)
		}
	}
	if got := history.In(store.Memory(), "p").ConfigDir(); got != "" {
		t.Errorf("in a store: %s", got)
	}
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("HOME", "")
	if _, err := history.Disk("").Info(t.Context(), sid(1)); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("without a home: %v", err)
	}
}

// session is a transcript of one exchange in a directory.
func sessionIn(n int, dir string) string {
	return strings.ReplaceAll(exchange(sid(n), "", "said in "+filepath.Base(dir), "1"), `"/work"`, `"`+dir+`"`)
}

// A query for a directory finds the sessions of its worktrees, those of its real path,
// and those of the folder that a variable names.
func TestListOfDirectories(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	one, two, link := filepath.Join(base, "one"), filepath.Join(base, "two"), filepath.Join(base, "link")
	deep := filepath.Join(base, strings.Repeat("long-name-", 20)+"x")
	other := filepath.Join(base, strings.Repeat("long-name-", 20)+"y")
	files := map[string]string{
		"//projects/named/" + sid(4) + ".jsonl":                                      sessionIn(4, "/elsewhere"),
		"//projects/" + transcript.LongPrefix(deep) + "old1/" + sid(5) + ".jsonl":    sessionIn(5, deep),
		"//projects/" + transcript.LongPrefix(deep) + "old2/" + sid(6) + ".jsonl":    sessionIn(6, other),
		"//projects/" + transcript.LongPrefix(deep) + "old3/not-a-session.jsonl":     sessionIn(7, deep),
		"//projects/" + transcript.ProjectName(one) + "/" + sid(1) + ".jsonl":        sessionIn(1, one),
		"//projects/" + transcript.ProjectName(two) + "/" + sid(2) + ".jsonl":        sessionIn(2, two),
		"//projects/" + transcript.ProjectName(base) + "/" + sid(3) + ".jsonl":       sessionIn(3, base),
		"//projects/" + transcript.ProjectName(one) + "/" + sid(8) + ".jsonl.backup": sessionIn(8, one),
	}
	config := configWith(t, files)
	for _, dir := range []string{one, two} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	// A git that knows two worktrees, and only in the first of them.
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = \"-C " + one + " worktree list --porcelain\" ] || exit 128\nprintf 'worktree " + one + "\\nHEAD abc\\n\\nworktree " + two + "/\\r\\nbranch x\\n'\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("CLAUDE_CODE_PROJECT_DIR_NAME", "named")
	mem := store.Memory()
	stored, put := inStore(t, mem)
	for n, dir := range map[int]string{1: one, 2: two, 3: base, 4: "/elsewhere", 5: deep, 6: other} {
		put(sid(n), "", sessionIn(n, dir))
	}
	for _, c := range []struct {
		name string
		q    history.Query
		want string
	}{
		{"worktrees", history.Query{Dir: one}, "1 2"},
		{"without worktrees", history.Query{Dir: one, SkipWorktrees: true}, "1"},
		{"not a worktree", history.Query{Dir: two}, "2"},
		{"through a link", history.Query{Dir: link}, "1 2"},
		{"with dots", history.Query{Dir: two + "/../one/.", SkipWorktrees: true}, "1"},
		{"above", history.Query{Dir: base}, "3"},
		{"hashed by an old CLI", history.Query{Dir: deep}, "5"},
		{"gone", history.Query{Dir: filepath.Join(base, "gone")}, ""},
	} {
		for name, h := range map[string]*history.History{"disk": history.Disk(config), "store": stored} {
			var got []string
			for _, info := range list(t, h, c.q) {
				got = append(got, info.ID[len(info.ID)-1:])
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s, %s: %q, want %s", c.name, name, got, c.want)
			}
		}
	}
	t.Setenv("CLAUDE_CONFIG_DIR", config)
	if got := list(t, history.Disk(""), history.Query{Dir: two}); len(got) != 2 {
		t.Errorf("with a folder that a variable names: %+v", got)
	}
}

// Sessions of the same moment are listed by id, so that pages do not overlap.
func TestListOfOneMoment(t *testing.T) {
	files := make(map[string]string)
	for n := range 30 { // more than are read one by one
		files[sid(n)+".jsonl"] = exchange(sid(n), "", sid(n), "1")
	}
	config := configWith(t, files)
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name := range files {
		if err := os.Chtimes(filepath.Join(config, "projects", "-work", name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for offset := 0; offset < 30; offset += 7 {
		for _, info := range list(t, history.Disk(config), history.Query{Offset: offset, Limit: 7}) {
			got = append(got, info.ID)
			if !info.Modified.Equal(when) || info.Size != int64(len(files[info.ID+".jsonl"])) {
				t.Errorf("listed %+v", info)
			}
		}
	}
	want := slices.Sorted(maps.Keys(files))
	slices.Reverse(want)
	for i := range want {
		want[i] = strings.TrimSuffix(want[i], ".jsonl")
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A session in two folders is read where it is newer, archived in both, and deleted in
// both with what was kept for rewinding.
func TestSessionOfTwoFolders(t *testing.T) {
	config := configWith(t, map[string]string{
		"//projects/-a/" + sid(1) + ".jsonl":   exchange(sid(1), "", "older", "1"),
		"//projects/-b/" + sid(1) + ".jsonl":   exchange(sid(1), "", "newer", "2"),
		"//projects/-c/" + sid(1) + ".jsonl":   "", // is not a session
		"//projects/-b/" + sid(2) + ".jsonl":   exchange(sid(2), "", "other", "3"),
		"//file-history/" + sid(1) + "/abc@v1": "contents",
		"//file-history/" + sid(2) + "/abc@v1": "contents",
	})
	h := history.Disk(config)
	if info, err := h.Info(t.Context(), sid(1)); err != nil || info.Title != "newer" {
		t.Errorf("%+v, %v", info, err)
	}
	if tr, err := h.Read(t.Context(), sid(1)); err != nil || !slices.Equal(spoken(t, tr), []string{"newer", "2"}) {
		t.Errorf("%+v, %v", tr, err)
	}
	if err := h.Archive(t.Context(), sid(1)); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{"-a", "-b"} {
		path := filepath.Join(config, "projects", project, sid(1), "archived.json")
		text, err := os.ReadFile(path)
		if info, err2 := os.Stat(path); err != nil || err2 != nil || !strings.Contains(string(text), `"archived":true`) || !strings.Contains(string(text), `"by":"sdk"`) || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %s, %v, %v", project, text, err, err2)
		}
	}
	removed, err := h.Delete(t.Context(), sid(1))
	if err != nil || len(removed.Paths) != 5 || removed.Files != 5 {
		t.Errorf("removed %+v, %v", removed, err)
	}
	left := slices.Sorted(maps.Keys(tree(t, config)))
	for i := range left {
		left[i] = strings.TrimPrefix(left[i], config+"/")
	}
	if want := []string{"file-history/" + sid(2) + "/abc@v1", "projects/-b/" + sid(2) + ".jsonl", "projects/-c/" + sid(1) + ".jsonl"}; !slices.Equal(left, want) {
		t.Errorf("left are %q", left)
	}
}

// The notes beside a transcript count if they are small and whole.
func TestNotesBesideTranscripts(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		title      string
		archived   bool
	}{
		"title":          {"custom-title.json", `{"customTitle":" Given "}`, "Given", false},
		"broken title":   {"custom-title.json", `{"customTitle":"Given"`, "one", false},
		"large title":    {"custom-title.json", `{"customTitle":"Given"}` + strings.Repeat(" ", 64<<10), "one", false},
		"archived":       {"archived.json", `{"archived":true,"at":"2026-06-01T00:00:00Z"}`, "one", true},
		"not archived":   {"archived.json", `{"archived":false,"at":"2026-06-01T00:00:00Z"}`, "one", false},
		"archived first": {"archived.json", `{"archived":true,"at":"2025-06-01T00:00:00Z"}`, "one", false},
		"broken mark":    {"archived.json", `{"archived":true,`, "one", false},
	} {
		h := history.Disk(configWith(t, map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1"), sid(1) + "/" + c.file: c.text}))
		got := list(t, h, history.Query{})
		if len(got) != 1 || got[0].Title != c.title || got[0].Archived != c.archived {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A fork is private, and one that cannot be finished leaves nothing behind.
func TestForkLeavesNothing(t *testing.T) {
	config := configWith(t, map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1")})
	h := history.Disk(config)
	fork, err := h.Fork(t.Context(), sid(1), history.ForkOptions{Title: "Copy"})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(config, "projects", "-work", fork+".jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := h.Info(t.Context(), fork); err != nil || info.Title != "Copy" {
		t.Errorf("%+v, %v", info, err)
	}
	before := tree(t, config)
	// The name of the copy is that of a folder: it cannot get it.
	if err := os.MkdirAll(filepath.Join(config, "projects", "-work", sid(9)+".jsonl", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if id, err := h.Fork(t.Context(), sid(1), history.ForkOptions{ID: sid(9)}); err == nil || id != "" {
		t.Errorf("forked into %q, %v", id, err)
	}
	down := storefault.Wrap(store.Memory(), func(c storefault.Call) storefault.Kind {
		if c.Method == "Append" {
			return storefault.Fail
		}
		return storefault.None
	})
	if _, err := h.Fork(t.Context(), sid(1), history.ForkOptions{Into: history.In(down, "p")}); !errors.Is(err, storefault.ErrFault) {
		t.Errorf("into a store that is down: %v", err)
	}
	if after := tree(t, config); !maps.Equal(before, after) {
		t.Errorf("left behind: %q", slices.Sorted(maps.Keys(after)))
	}
	entries, err := os.ReadDir(filepath.Join(config, "projects", "-work"))
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
		t.Errorf("%v, %v", entries, err)
	}
}
