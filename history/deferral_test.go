package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// TestDefer marks the call with which a session broke off, once, and no other.
func TestDefer(t *testing.T) {
	const id = "00000000-0000-4000-8000-0000000000aa"
	line := func(kind, message, content string, n int) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf(`"00000000-0000-4000-8000-00000000000%d"`, n-1)
		}
		return fmt.Sprintf(`{"type":%q,"uuid":"00000000-0000-4000-8000-00000000000%d","parentUuid":%s,"sessionId":%q,"cwd":"/repo","version":"2.1.325","message":{"id":%q,"role":%q,"content":%s}}`, kind, n, parent, id, message, kind, content)
	}
	call := func(name string) string {
		return `[{"type":"tool_use","id":"` + name + `","name":"Bash","input":{"command":"make"}}]`
	}
	result := func(name string) string {
		return `[{"type":"tool_result","tool_use_id":"` + name + `","content":"x"}]`
	}
	prompt := line("user", "", `"build it"`, 1)
	for name, c := range map[string]struct {
		lines []string
		ok    bool
	}{
		"waits":                 {[]string{prompt, line("assistant", "m", call("a"), 2)}, true},
		"behind another":        {[]string{prompt, line("assistant", "m", call("b"), 2), line("assistant", "m", call("a"), 3), line("user", "", result("b"), 4)}, true},
		"has a result":          {[]string{prompt, line("assistant", "m", call("a"), 2), line("user", "", result("a"), 3)}, false},
		"the next prompt":       {[]string{prompt, line("assistant", "m", call("a"), 2), line("user", "", `"hello?"`, 3)}, false},
		"the next answer":       {[]string{prompt, line("assistant", "m", call("a"), 2), line("assistant", "n", `[{"type":"text","text":"x"}]`, 3)}, false},
		"beside one that broke": {[]string{prompt, line("assistant", "m", call("a"), 2), line("assistant", "m", call("b"), 3)}, false},
		"no such call":          {[]string{prompt}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "projects", "-repo", id+".jsonl")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time changes nothing
				err := history.Disk(dir).Defer(t.Context(), id, "a")
				if c.ok && err != nil || !c.ok && !errors.Is(err, history.ErrNotWaiting) {
					t.Errorf("%v", err)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if c.ok {
				want = 1
			}
			if got := strings.Count(string(data), "hook_deferred_tool"); got != want {
				t.Fatalf("%d marks, want %d", got, want)
			}
			if mark := string(data[strings.LastIndex(strings.TrimSpace(string(data)), "\n")+1:]); c.ok && (!strings.Contains(mark, `"toolInput":{"command":"make"}`) || !strings.Contains(mark, `"cwd":"/repo"`)) {
				t.Errorf("the mark is %s", mark)
			}
		})
	}
	if err := history.Disk(t.TempDir()).Defer(t.Context(), id, "a"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("without a session: %v, want %v", err, history.ErrNotFound)
	}
}
