//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// namedPipe makes a named pipe, and opens it so that nothing waits for the other side.
func namedPipe(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return f
}

// While a process makes a worktree, others that share its root neither take it back nor
// remove it: they wait, and then have the same one.
func TestCheckoutsOfTwoProcesses(t *testing.T) {
	long.Test(t, "starts a process")
	repo := repository(t, map[string]string{".gitattributes": "f filter=slow\n", "f": "content"})
	root, pipes := t.TempDir(), t.TempDir()
	began, proceed := namedPipe(t, filepath.Join(pipes, "began")), namedPipe(t, filepath.Join(pipes, "proceed"))
	git(t, repo, "config", "filter.slow.smudge", fmt.Sprintf("echo x > %s; read x < %s; cat", began.Name(), proceed.Name()))
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), fmt.Sprintf("%s=worktree|0|%s|%s", victim, root, repo))
	var said strings.Builder
	other.Stdout, other.Stderr = &said, &said
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	if _, err := began.Read(make([]byte, 2)); err != nil {
		t.Fatalf("the checkout has not begun: %v", err)
	}
	bound := w.o.Timeout
	w.o.Timeout = 50 * time.Millisecond // real time: it has to end, and nothing else ends it
	if _, err := w.Open(t.Context(), "k"); !errors.Is(err, store.ErrBusy) {
		t.Errorf("Open beside another: %v", err)
	}
	if err := w.Remove(t.Context(), "k", store.Fence{}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("Remove beside another: %v", err)
	}
	w.o.Timeout = bound
	opened := make(chan error, 1)
	go func() {
		_, err := w.Open(t.Context(), "k")
		opened <- err
	}()
	if _, err := proceed.WriteString("x\n"); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err != nil {
		t.Errorf("the process that was first: %v: %s", err, said.String())
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	if text, err := os.ReadFile(filepath.Join(d.Path(), "f")); err != nil || string(text) != "content" || d.Base() != git(t, repo, "rev-parse", "HEAD") {
		t.Errorf("the worktree has %q, %v, and began at %s", text, err, d.Base())
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
