package workspace

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// git runs git for a test, and fails it.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with a commit.
func repository(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, dir, files)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=first")
	return dir
}

// Each conversation has a branch and files of its own. The result is a patch that applies
// to the repository, and nothing is left after Remove.
func TestWorktrees(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"main.go": "package main\n", "old": "old\n", ".gitignore": "*.o\n"})
	write(t, repo, map[string]string{"main.go": "dirty\n", "untracked": "x"}) // which is not the worktrees' business
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, b := open(t, w, "acme/ada").(*WorktreeDir), open(t, w, "acme/bob").(*WorktreeDir)
	if got := readTree(t, a.Path())["main.go"]; !strings.HasSuffix(got, "package main\n") {
		t.Errorf("the worktree has %q", got)
	}
	if branch := git(t, a.Path(), "branch", "--show-current"); branch != a.Branch() || branch != w.Branch("acme/ada") || a.Branch() == b.Branch() {
		t.Errorf("the branches are %s and %s, and %s is checked out", a.Branch(), b.Branch(), branch)
	}
	write(t, a.Path(), map[string]string{"main.go": "package changed\n", "committed": "c\n", "a.o": "o"})
	git(t, a.Path(), "add", "committed")
	git(t, a.Path(), "commit", "--quiet", "--message=work")
	write(t, a.Path(), map[string]string{"new/file": "n\x00binary\n"})
	if err := os.Remove(filepath.Join(a.Path(), "old")); err != nil {
		t.Fatal(err)
	}
	save(t, a)
	status := git(t, a.Path(), "status", "--porcelain")
	a = open(t, w, "acme/ada").(*WorktreeDir) // the next process
	patch, err := a.Patch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after := git(t, a.Path(), "status", "--porcelain"); after != status {
		t.Errorf("the patch has changed the worktree: %q, before %q", after, status)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, repo, "clone", "--quiet", repo, clone)
	file := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, clone, "apply", file)
	got := readTree(t, clone)
	for name, want := range map[string]string{"main.go": "package changed\n", "committed": "c\n", "new/file": "n\x00binary\n", "old": "", "a.o": ""} {
		if has, ok := got[name]; ok != (want != "") || !strings.HasSuffix(has, want) {
			t.Errorf("after the patch, %s is %q", name, has)
		}
	}
	if empty, err := b.Patch(t.Context()); err != nil || len(empty) > 0 {
		t.Errorf("the other patch is %q, %v", empty, err)
	}
	for _, key := range []string{"acme/ada", "acme/bob", "acme/nobody"} {
		if err := w.Remove(t.Context(), key, store.Fence{}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if left := git(t, repo, "branch", "--list", "claude/*") + git(t, repo, "worktree", "list", "--porcelain"); strings.Contains(left, "claude/") {
		t.Errorf("left: %s", left)
	}
	if config := git(t, repo, "config", "--list", "--local"); strings.Contains(config, "claudebase") {
		t.Errorf("left: %s", config)
	}
	if main := git(t, repo, "status", "--porcelain"); main != "M main.go\n?? untracked" {
		t.Errorf("the repository has %q", main)
	}
}

// What cannot be opened says why, and leaves nothing.
func TestWorktreesThatCannotBe(t *testing.T) {
	long.Test(t, "needs git")
	ctx := t.Context()
	repo := repository(t, map[string]string{"f": "x"})
	root := t.TempDir()
	for name, o := range map[string]WorktreeOptions{
		"Repo": {Repo: t.TempDir(), Root: root}, "Repo: is missing": {Root: root}, "Root: is missing": {Repo: repo}, "Base": {Repo: repo, Root: root, Base: "--output=x"},
		"Prefix": {Repo: repo, Root: root, Prefix: "a..b/"}, "inside": {Repo: repo, Root: filepath.Join(repo, "trees")},
	} {
		if _, err := NewWorktrees(ctx, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	w, err := NewWorktrees(ctx, WorktreeOptions{Repo: repo, Root: root, KeepBranches: true})
	if err != nil {
		t.Fatal(err)
	}
	git(t, repo, "branch", w.Branch("taken"))
	if _, err := w.Open(ctx, "taken"); !errors.Is(err, ErrBranchExists) {
		t.Errorf("a branch that exists: %v", err)
	}
	git(t, repo, "branch", "--list", w.Branch("taken")) // and still does
	write(t, root, map[string]string{nameOf("folder") + "/f": "x"})
	if _, err := w.Open(ctx, "folder"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that is not a worktree: %v", err)
	}
	if _, err := w.Open(ctx, "a/../b"); !errors.Is(err, ErrKey) {
		t.Errorf("a key with ..: %v", err)
	}
	if left, _ := os.ReadDir(root); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
	d := open(t, w, "kept").(*WorktreeDir)
	if err := w.Remove(ctx, "kept", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if git(t, repo, "rev-parse", "--verify", d.Branch()) != d.Base() {
		t.Error("the branch is gone")
	}
	// A hook of the repository is not run for a conversation.
	write(t, repo, map[string]string{".git/hooks/post-checkout": "#!/bin/sh\ntouch " + filepath.Join(root, "hooked") + "\n"})
	if err := os.Chmod(filepath.Join(repo, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, w, "next")
	if _, err := os.Stat(filepath.Join(root, "hooked")); err == nil {
		t.Error("a hook was run")
	}
}
