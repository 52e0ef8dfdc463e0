package history_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// The processes of a session are those that name it and are alive. Unreadable
// files count as absent.
func TestProcesses(t *testing.T) {
	id, other := uuid.New(), uuid.New() // of no session that anything else on this machine has open
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	self := os.Getpid()
	says := func(pid int, session string) string { return fmt.Sprintf(`{"pid":%d,"sessionId":%q}`, pid, session) }
	for name, c := range map[string]struct {
		files map[string]string
		want  []int
	}{
		"nobody":                 {nil, nil},
		"alive":                  {map[string]string{"1.json": says(self, id)}, []int{self}},
		"alive, in capitals":     {map[string]string{"1.json": says(self, strings.ToUpper(id))}, []int{self}},
		"twice":                  {map[string]string{"1.json": says(self, id), "2.json": says(self, id)}, []int{self}},
		"ended":                  {map[string]string{"1.json": says(ended.Process.Pid, id)}, nil},
		"another session":        {map[string]string{"1.json": says(self, other)}, nil},
		"not a process":          {map[string]string{"0.json": says(0, id), "1.json": says(-1, id)}, nil},
		"not JSON":               {map[string]string{"1.json": `{"pid":`, "2.json": "", "3.json": "[]"}, nil},
		"another kind":           {map[string]string{"1.key": says(self, id)}, nil},
		"too large":              {map[string]string{"1.json": says(self, id) + strings.Repeat(" ", 64<<10)}, nil},
		"beside one that is bad": {map[string]string{"1.json": "x", "2.json": says(self, id)}, []int{self}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(dir, "sessions", file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := history.Disk(dir).Processes(t.Context(), id)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
	if _, err := history.Disk(t.TempDir()).Processes(t.Context(), "x"); !errors.Is(err, history.ErrInvalidID) {
		t.Errorf("of what is not an id: %v", err)
	}
	for name, h := range map[string]*history.History{"no directory": history.Disk("/none"), "in a store": history.In(store.Memory(), "p")} {
		if got, err := h.Processes(t.Context(), id); err != nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// The real CLI registers the session it has open, new or resumed, for as long as
// it runs.
func TestRealProcesses(t *testing.T) {
	w := newWorkshop(t)
	dir, h := w.dir(t, "repo"), history.Disk(w.config)
	var id string
	for _, begun := range []string{"a new session", "a resumed one"} {
		got := w.session(t, dir, func(o *claude.Options) { o.Resume = id }, func(s *claude.Session) {
			w.ask(t, s, begun, claudetest.Say("Hello."))
			pids, err := h.Processes(t.Context(), s.ID())
			if err != nil || !slices.Equal(pids, []int{s.PID()}) {
				t.Errorf("%s is open in %v, %v, want %d", begun, pids, err, s.PID())
			}
		})
		id = got
		if pids, err := h.Processes(t.Context(), id); err != nil || len(pids) != 0 {
			t.Errorf("%s is still open in %v, %v", begun, pids, err)
		}
	}
}
