package approval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/store"
)

// A question about an edit shows the change to the current file.
func TestQuestionShowsDiff(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, []byte(strings.Repeat("line\n", 1<<19)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool  string
		input map[string]any
		want  string // without the names; "" if there is no diff
	}{
		"edit":      {"Edit", map[string]any{"file_path": file, "old_string": "two", "new_string": "2"}, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"},
		"write":     {"Write", map[string]any{"file_path": file, "content": "one\ntwo\n"}, "@@ -1,3 +1,2 @@\n one\n two\n-three\n"},
		"new":       {"Write", map[string]any{"file_path": filepath.Join(dir, "new"), "content": "x\n"}, "@@ -0,0 +1,1 @@\n+x\n"},
		"not there": {"Edit", map[string]any{"file_path": file, "old_string": "2\n", "new_string": "3\n"}, "@@ -1,1 +1,1 @@\n-2\n+3\n"},
		"too large": {"Edit", map[string]any{"file_path": large, "old_string": "line\n", "new_string": "x\n"}, "@@ -1,1 +1,1 @@\n-line\n+x\n"},
		"directory": {"Write", map[string]any{"file_path": dir, "content": "x\n"}, "@@ -0,0 +1,1 @@\n+x\n"},
		"no edit":   {"Bash", map[string]any{"command": "make"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			use := claudetest.ScriptedCall{ID: "toolu_1", Name: c.tool, Input: c.input}
			g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(use), claudetest.Say("Done."))
			defer g.Close()
			results := g.start()
			q := g.only()
			want := c.want
			if want != "" {
				path := c.input["file_path"].(string)
				want = "--- " + path + "\n+++ " + path + "\n" + want
			}
			if q.Diff != want {
				t.Errorf("%s: the question shows\n%s\nwant\n%s", name, q.Diff, want)
			}
			decide(deny)(t, g.inbox, q)
			<-results
		})
	}
}
