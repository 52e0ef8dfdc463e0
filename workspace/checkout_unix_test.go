//go:build unix

package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// TestKilledGit kills git and the process that opens a worktree with SIGKILL while it writes
// its files, after each of them. The next process has a whole worktree.
func TestKilledGit(t *testing.T) {
	long.Test(t, "starts and kills processes")
	files := map[string]string{".gitattributes": "f* filter=slow\n"}
	for i := range 5 {
		files[fmt.Sprint("f", i)] = fmt.Sprint(i)
	}
	repo := repository(t, files)
	scripts := t.TempDir()
	for after := range len(files) {
		root := t.TempDir()
		count := filepath.Join(scripts, fmt.Sprint("count", after))
		script := filepath.Join(scripts, fmt.Sprint("filter", after))
		// The process that opens leads its group, and the filter is in it.
		text := fmt.Sprintf("#!/bin/sh\necho x >> %[1]s\nif [ \"$(wc -l < %[1]s)\" -gt %[2]d ]; then kill -9 0; fi\nexec cat\n", count, after)
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		git(t, repo, "config", "filter.slow.smudge", script)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=worktree|0|%s|%s", victim, root, repo))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.CombinedOutput()
		if killed := err != nil && !cmd.ProcessState.Exited(); killed != (after < 5) {
			t.Fatalf("after %d files: %v: %s", after, err, out)
		}
		git(t, repo, "config", "filter.slow.smudge", "cat")
		w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: root})
		if err != nil {
			t.Fatal(err)
		}
		d := open(t, w, "k").(*WorktreeDir)
		if dirty := git(t, d.Path(), "status", "--porcelain"); dirty != "" {
			t.Errorf("killed after %d files: %s", after, dirty)
		}
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join(d.Path(), name)); err != nil || string(got) != want {
				t.Errorf("killed after %d files: %s has %q, %v", after, name, got, err)
			}
		}
		if err := w.Remove(t.Context(), "k", store.Fence{}); err != nil {
			t.Fatal(err)
		}
		if left := git(t, repo, "worktree", "list"); strings.Count(left, "\n") > 0 {
			t.Errorf("killed after %d files: %s is left", after, left)
		}
	}
}
