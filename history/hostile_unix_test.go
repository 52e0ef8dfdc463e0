//go:build unix

package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// Reading does not wait for a pipe in the place of any file, nor follow links
// that lead in a circle or out.
func TestPipesAndLinks(t *testing.T) {
	config := configWith(t, map[string]string{
		sid(1) + ".jsonl":                     exchange(sid(1), "", "one", "1"),
		sid(1) + "/subagents/agent-abc.jsonl": exchange(sid(1), "", "look", "seen"),
		sid(3) + ".jsonl":                     exchange(sid(3), "", "three", "3"),
		"//secret.txt":                        "secret",
	})
	project := filepath.Join(config, "projects", "-work")
	for _, name := range []string{sid(2) + ".jsonl", sid(1) + "/archived.json", sid(1) + "/custom-title.json", sid(1) + "/subagents/agent-abc.meta.json", sid(1) + "/subagents/agent-def.jsonl"} {
		if err := syscall.Mkfifo(filepath.Join(project, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"projects/-loop":                      "-loop",
		"projects/-up":                        "..",
		"projects/-work/" + sid(4) + ".jsonl": sid(4) + ".jsonl",
		"projects/-work/" + sid(3) + "":       ".",
	} {
		if err := os.Symlink(to, filepath.Join(config, name)); err != nil {
			t.Fatal(err)
		}
	}
	h := history.Disk(config)
	if got := titles(list(t, h, history.Query{})); got != "three one" {
		t.Errorf("listed %q", got)
	}
	for _, id := range []string{sid(2), sid(4)} {
		if err := everyMethod(t.Context(), h, id); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("session %s: %v, want ErrNotFound", id, err)
		}
	}
	tr, err := h.Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	if agents, err := tr.Subagents(t.Context()); err != nil || len(agents) != 1 || agents[0].ID != "abc" {
		t.Errorf("subagents %+v, %v", agents, err)
	}
	if tr, err = h.Read(t.Context(), sid(3)); err != nil {
		t.Fatal(err)
	}
	if agents, err := tr.Subagents(t.Context()); err != nil || len(agents) != 0 {
		t.Errorf("subagents behind a link: %+v, %v", agents, err)
	}
	if _, err := h.Delete(t.Context(), sid(3)); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := os.Stat(filepath.Join(project, sid(1)+".jsonl")); err != nil {
		t.Errorf("a link to the project was followed: %v", err)
	}
}

// A file that changed after it was indexed is an error, whatever it has become;
// no part of another conversation is shown.
func TestFilesThatChange(t *testing.T) {
	long := exchange(sid(1), "", "one", "1")
	for i := range 200 {
		long += exchange(sid(1), fmt.Sprint("a-", answer(i)), fmt.Sprint("more ", i), answer(i+1))
	}
	other := strings.ReplaceAll(long, "more", "less")
	for name, change := range map[string]func(file string) error{
		"shorter": func(file string) error { return os.Truncate(file, int64(len(long)/3)) },
		"empty":   func(file string) error { return os.Truncate(file, 0) },
		"others":  func(file string) error { return os.WriteFile(file, []byte(other), 0o600) },
		"zeros":   func(file string) error { return os.WriteFile(file, make([]byte, len(long)), 0o600) },
		"renamed": func(file string) error {
			if err := os.WriteFile(file+".x", []byte("x\n"+other), 0o600); err != nil {
				return err
			}
			return os.Rename(file+".x", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := configWith(t, map[string]string{sid(1) + ".jsonl": long})
			h := history.Disk(config)
			tr, err := h.Read(t.Context(), sid(1))
			if err != nil || tr.Len() != 402 {
				t.Fatalf("%+v, %v", tr, err)
			}
			if err := change(filepath.Join(config, "projects", "-work", sid(1)+".jsonl")); err != nil {
				t.Fatal(err)
			}
			var last error
			for m, err := range tr.Messages(t.Context(), history.Page{}) {
				if last = err; err == nil && strings.Contains(string(m.Head().Raw), "less") {
					t.Fatalf("a message of another file: %s", m.Head().Raw)
				}
			}
			if !errors.Is(last, history.ErrChanged) {
				t.Errorf("messages: %v, want ErrChanged", last)
			}
			last = nil
			for line, err := range tr.Entries(t.Context()) {
				if last = err; err == nil && strings.Contains(string(line), "less") {
					t.Fatalf("a line of another file: %s", line)
				}
			}
			if !errors.Is(last, history.ErrChanged) {
				t.Errorf("entries: %v, want ErrChanged", last)
			}
		})
	}
}

func answer(i int) string {
	if i == 0 {
		return "1"
	}
	return fmt.Sprint("answer ", i)
}

// Leaving the loop early ends the decoding ahead, and every message comes once
// and in order.
func TestMessagesInOrder(t *testing.T) {
	var long strings.Builder
	long.WriteString(exchange(sid(1), "", "one", "1"))
	for i := range 2000 {
		long.WriteString(exchange(sid(1), "a-"+answer(i), fmt.Sprintf("question %d %s", i, strings.Repeat("x", i%500)), answer(i+1)))
	}
	h := history.Disk(configWith(t, map[string]string{sid(1) + ".jsonl": long.String()}))
	tr, err := h.Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{1, 15, 16, 17, 100, 4002, 5000} {
		n := 0
		for m, err := range tr.Messages(t.Context(), history.Page{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n%2 == 0 && m.UUID != "a-"+answer(n/2-1) {
				t.Fatalf("message %d is %s", n, m.UUID)
			}
			if n == stop {
				break
			}
		}
		if n != min(stop, 4002) {
			t.Errorf("%d messages, want %d", n, min(stop, 4002))
		}
	}
}

// Marks that are set at the same time do not get in each other's way.
func TestConcurrentArchive(t *testing.T) {
	config := configWith(t, map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1")})
	h := history.Disk(config)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 20 {
				change := h.Archive
				if i%2 == 0 {
					change = h.Unarchive
				}
				if err := change(t.Context(), sid(1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if err := h.Archive(t.Context(), sid(1)); err != nil {
		t.Fatal(err)
	}
	if info, err := h.Info(t.Context(), sid(1)); err != nil || !info.Archived {
		t.Errorf("%+v, %v", info, err)
	}
	if left, err := os.ReadDir(filepath.Join(config, "projects", "-work", sid(1))); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A mark that cannot be set leaves nothing behind, and the error names the session.
func TestFailedArchive(t *testing.T) {
	config := configWith(t, map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1"), sid(1) + "/archived.json/in the way": "x"})
	h := history.Disk(config)
	if err := h.Archive(t.Context(), sid(1)); err == nil || !strings.Contains(err.Error(), sid(1)) {
		t.Errorf("archived over a folder: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(config, "projects", "-work", sid(1))); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A mark is set wherever the session is, and an error at one place is not lost at another.
func TestArchiveInPart(t *testing.T) {
	for _, blocked := range []string{"-work", "-other"} {
		config := configWith(t, map[string]string{
			"projects//-work//" + sid(1) + ".jsonl":                          exchange(sid(1), "", "one", "1"),
			"projects//-other//" + sid(1) + ".jsonl":                         exchange(sid(1), "", "one", "1"),
			"projects//" + blocked + "//" + sid(1) + "//archived.json//full": "x",
		})
		if err := history.Disk(config).Archive(t.Context(), sid(1)); err == nil {
			t.Errorf("%s is blocked: no error", blocked)
		}
		for _, project := range []string{"-work", "-other"} {
			info, err := os.Stat(filepath.Join(config, "projects", project, sid(1), "archived.json"))
			if err != nil || info.IsDir() != (project == blocked) {
				t.Errorf("%s is blocked: the mark in %s is %v, %v", blocked, project, info, err)
			}
		}
	}
}
