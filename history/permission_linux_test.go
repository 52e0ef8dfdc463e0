package history_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// asNobody does something without the rights of root, if the tests have them: the
// system checks files against the user of the thread.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
	defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	do()
}

// Every method reports a file that may not be read as such an error; nothing
// changes, and the other sessions are still there.
func TestNoPermission(t *testing.T) {
	for name, closed := range map[string]string{
		"the transcript": "projects/-work/" + sid(1) + ".jsonl",
		"its folder":     "projects/-work",
		"all folders":    "projects",
		"everything":     "",
	} {
		t.Run(name, func(t *testing.T) {
			config := configWith(t, map[string]string{
				sid(1) + ".jsonl":                      exchange(sid(1), "", "one", "1"),
				"//projects/-two/" + sid(2) + ".jsonl": exchange(sid(2), "", "two", "2"),
			})
			before := tree(t, config)
			err := filepath.WalkDir(filepath.Dir(config), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Chmod(path, 0o755)
			})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(config, filepath.FromSlash(closed))
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			h := history.Disk(config)
			asNobody(t, func() {
				if err := everyMethod(t.Context(), h, sid(1)); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("closed: %v, want that it is not permitted", err)
				}
				listed, failed := 0, error(nil)
				for _, err := range h.List(t.Context(), history.Query{}) {
					if failed = err; err == nil {
						listed++
					}
				}
				if all := closed == "" || closed == "projects"; all && !errors.Is(failed, fs.ErrPermission) || !all && (listed != 1 || failed != nil) {
					t.Errorf("listed %d, %v", listed, failed)
				}
			})
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if after := tree(t, config); !maps.Equal(before, after) {
				t.Errorf("files have changed: %v, before %v", after, before)
			}
		})
	}
}

// A folder of subagents that may not be read hides none of the others.
func TestClosedFolderOfSubagents(t *testing.T) {
	config := configWith(t, map[string]string{
		sid(1) + ".jsonl": exchange(sid(1), "", "one", "1"),
		sid(1) + "/subagents/a-closed/agent-xyz.jsonl":      exchange(sid(1), "", "look", "seen"),
		sid(1) + "/subagents/agent-abc.jsonl":               exchange(sid(1), "", "look", "seen"),
		sid(1) + "/subagents/workflows/agent-def.jsonl":     exchange(sid(1), "", "look", "seen"),
		sid(1) + "/subagents/workflows/agent-note.json":     "{}",
		sid(1) + "/subagents/workflows/other-ghi.jsonl":     exchange(sid(1), "", "look", "seen"),
		sid(1) + "/subagents/workflows/agent-a b.jsonl":     exchange(sid(1), "", "look", "seen"),
		sid(1) + "/subagents/workflows/agent-def.meta.json": `{"agentType":"explorer","toolUseId":"t9","parentAgentId":"abc"}`,
	})
	err := filepath.WalkDir(filepath.Dir(config), func(path string, d fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
	closed := filepath.Join(config, "projects", "-work", sid(1), "subagents", "a-closed")
	if err := errors.Join(err, os.Chmod(closed, 0)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o755)
	asNobody(t, func() {
		tr, err := history.Disk(config).Read(t.Context(), sid(1))
		if err != nil {
			t.Fatal(err)
		}
		agents, err := tr.Subagents(t.Context())
		if err != nil || len(agents) != 2 || agents[0].ID != "abc" || agents[1].ID != "def" || agents[1].Parent != "abc" || agents[1].ToolUseID != "t9" {
			t.Errorf("%+v, %v", agents, err)
		}
	})
}

// A session that cannot be removed whole, whichever part of it stays, keeps its
// transcript, so that it is found and deleted when that is possible.
func TestDeleteInTwoAttempts(t *testing.T) {
	for _, locked := range []string{"projects/-work/" + sid(1) + "/subagents", "file-history/" + sid(1)} {
		t.Run(path.Dir(locked), func(t *testing.T) {
			config := configWith(t, map[string]string{
				sid(1) + ".jsonl": exchange(sid(1), "", "one", "1"),
				"//projects/-work/" + sid(1) + "/subagents/agent-abc.jsonl": exchange(sid(1), "", "look", "seen"),
				"//file-history/" + sid(1) + "/abc@v1":                      "old contents",
			})
			modes := func(mode os.FileMode) {
				err := filepath.WalkDir(filepath.Dir(config), func(path string, d fs.DirEntry, err error) error {
					if err != nil {
						return err
					}
					return os.Chmod(path, 0o777)
				})
				if err := errors.Join(err, os.Chmod(filepath.Join(config, filepath.FromSlash(locked)), mode)); err != nil {
					t.Fatal(err)
				}
			}
			h := history.Disk(config)
			modes(0o555)
			asNobody(t, func() {
				if _, err := h.Delete(t.Context(), sid(1)); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("Delete = %v, want that it is not permitted", err)
				}
				if info, err := h.Info(t.Context(), sid(1)); err != nil || info.Title != "one" {
					t.Errorf("after that: %+v, %v", info, err)
				}
			})
			modes(0o777)
			asNobody(t, func() {
				if _, err := h.Delete(t.Context(), sid(1)); err != nil {
					t.Errorf("Delete again: %v", err)
				}
				if _, err := h.Info(t.Context(), sid(1)); !errors.Is(err, history.ErrNotFound) {
					t.Errorf("after that: %v", err)
				}
			})
			if left := tree(t, config); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}
