package edit_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/edit"
	"github.com/claude-agent-go/claude/internal/test/long"
)

func TestOn(t *testing.T) {
	notebook := `{"cells":[{"id":"a","source":["x = 1\n","y = 2"]},{"source":"z = 3"}]}`
	for name, c := range map[string]struct {
		tool, input, file string
		before, after     string
		ok                bool
	}{
		"edit":               {"Edit", `{"file_path":"f","old_string":"b","new_string":"B"}`, "a\nb\nb\n", "a\nb\nb\n", "a\nB\nb\n", true},
		"edit everywhere":    {"Edit", `{"old_string":"b","new_string":"B","replace_all":true}`, "b\nb\n", "b\nb\n", "B\nB\n", true},
		"edit that misses":   {"Edit", `{"old_string":"x","new_string":"y"}`, "a\n", "", "", false},
		"edit of a new file": {"Edit", `{"old_string":"","new_string":"y\n"}`, "", "", "y\n", true},
		"edits":              {"MultiEdit", `{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c"}]}`, "a\n", "a\n", "c\n", true},
		"write":              {"Write", `{"content":"new\n"}`, "old\n", "old\n", "new\n", true},
		"cell":               {"NotebookEdit", `{"cell_id":"a","new_source":"x = 2"}`, notebook, "x = 1\ny = 2", "x = 2", true},
		"cell by number":     {"NotebookEdit", `{"cell_id":"cell-1","new_source":"z = 4"}`, notebook, "z = 3", "z = 4", true},
		"cell removed":       {"NotebookEdit", `{"cell_id":"a","edit_mode":"delete","new_source":""}`, notebook, "x = 1\ny = 2", "", true},
		"cell inserted":      {"NotebookEdit", `{"cell_id":"a","edit_mode":"insert","new_source":"w"}`, notebook, "", "w", true},
		"no such cell":       {"NotebookEdit", `{"cell_id":"q","new_source":"x"}`, notebook, "", "", false},
		"no notebook":        {"NotebookEdit", `{"cell_id":"a","new_source":"x"}`, "text", "", "", false},
	} {
		before, after, ok := edit.Parse(c.tool, json.RawMessage(c.input)).On(c.file)
		if before != c.before || after != c.after || ok != c.ok {
			t.Errorf("%s: %q, %q, %v", name, before, after, ok)
		}
	}
	if edit.Parse("Bash", json.RawMessage(`{}`)) != nil || edit.Parse("Edit", json.RawMessage(`[`)) != nil {
		t.Error("a call that does not edit is parsed")
	}
}

func TestUnified(t *testing.T) {
	long := strings.Repeat("same\n", 10)
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing":      {"a\n", "a\n", ""},
		"new file":     {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":      {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"line feed":    {"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"two places":   {"x\n" + long + "y\n", "X\n" + long + "Y\n", "@@ -1,4 +1,4 @@\n-x\n+X\n same\n same\n same\n@@ -9,4 +9,4 @@\n same\n same\n same\n-y\n+Y\n"},
		"near places":  {"x\na\nb\ny\n", "X\na\nb\nY\n", "@@ -1,4 +1,4 @@\n-x\n+X\n a\n b\n-y\n+Y\n"},
		"line removed": {"a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- f\n+++ f\n" + want
		}
		if got := edit.Unified("f", c.before, c.after, 1<<20); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// The patch program makes the one text of the other.
func TestUnifiedIsAPatch(t *testing.T) {
	long.Test(t, "needs the patch program")
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields("a b c d e f g a b c d x y z q r s t u v")
	for seed := range 12 {
		var before, after strings.Builder
		for i, w := range words {
			if (i*7+seed)%5 != 0 {
				before.WriteString(w + "\n")
			}
			if (i*3+seed)%7 != 0 {
				after.WriteString(w + "\n")
			}
		}
		one, other := before.String(), after.String()
		if seed%3 == 0 {
			other = strings.TrimSuffix(other, "\n")
		}
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(one), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), patch, "-s", file)
		cmd.Stdin = strings.NewReader(edit.Unified("f", one, other, 1<<20))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, out)
		}
		if got, _ := os.ReadFile(file); string(got) != other {
			t.Fatalf("seed %d: patched to %q, want %q", seed, got, other)
		}
	}
}

// A large change costs little, and its diff is cut.
func TestBounds(t *testing.T) {
	before, after := strings.Repeat("old\n", 20_000), strings.Repeat("new\n", 20_000)
	got := edit.Unified("f", before, after, 1000)
	if len(got) > 1100 || !strings.HasSuffix(got, "… the rest is not shown\n") {
		t.Errorf("%d bytes", len(got))
	}
	if n := len(edit.Diff(before, after)); n != 40_000 {
		t.Errorf("%d lines", n)
	}
}
