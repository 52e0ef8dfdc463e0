package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// A process that was started at another time than the CLI is another program with its
// id. Whatever cannot be compared rules out nothing.
func TestProcessIDReused(t *testing.T) {
	const id = "00000000-0000-4000-8000-0000000000aa"
	self := os.Getpid()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name of a test has no parentheses
	start := strings.Fields(after)[19]
	for name, c := range map[string]struct {
		start string
		want  []int
	}{
		"the same":        {`,"procStart":"` + start + `"`, []int{self}},
		"another":         {`,"procStart":"` + start + `1"`, nil},
		"not said":        {"", []int{self}},
		"empty":           {`,"procStart":""`, []int{self}},
		"of another kind": {`,"procStart":17`, []int{self}},
		"a date":          {`,"procStart":"Mon Nov 16 16:24:32 2026"`, []int{self}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions", "1.json")
			text := fmt.Sprintf(`{"pid":%d,"sessionId":%q%s}`, self, id, c.start)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			if got, err := history.Disk(dir).Processes(t.Context(), id); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}
