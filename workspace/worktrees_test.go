package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
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

// plant lets the filter, the monitor and the diffs of a repository leave a mark.
func plant(t *testing.T, dir, mark string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "mark")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"filter.x.clean", "core.fsmonitor", "diff.x.command", "diff.x.textconv"} {
		git(t, dir, "config", name, script)
	}
}

// What Claude plants in a worktree does not run in this process: neither by a .git file
// that leads to a repository of its own, nor by a repository in a folder.
func TestPatchRunsNothingPlanted(t *testing.T) {
	long.Test(t, "needs git")
	mark := filepath.Join(t.TempDir(), "mark")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repository(t, map[string]string{"f": "x\n"}), Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	attributes := map[string]string{".gitattributes": "* filter=x diff=x\n", "f": "changed\n"}
	for name, prepare := range map[string]func(d *WorktreeDir){
		"a .git file": func(d *WorktreeDir) {
			own := t.TempDir()
			git(t, own, "init", "--quiet")
			git(t, own, "commit", "--quiet", "--allow-empty", "--message=own")
			plant(t, own, mark)
			write(t, d.Path(), map[string]string{".git": "gitdir: " + filepath.Join(own, ".git") + "\n"})
		},
		"a .git folder": func(d *WorktreeDir) {
			if err := os.Remove(filepath.Join(d.Path(), ".git")); err != nil {
				t.Fatal(err)
			}
			git(t, d.Path(), "init", "--quiet")
			git(t, d.Path(), "commit", "--quiet", "--allow-empty", "--message=own")
			plant(t, d.Path(), mark)
		},
		"a repository in a folder": func(d *WorktreeDir) {
			sub := filepath.Join(d.Path(), "sub")
			write(t, sub, map[string]string{"f": "content\n"})
			git(t, sub, "init", "--quiet")
			git(t, sub, "add", ".")
			git(t, sub, "commit", "--quiet", "--message=sub")
			git(t, d.Path(), "add", "sub")
			git(t, d.Path(), "commit", "--quiet", "--message=link")
			plant(t, sub, mark)
			write(t, sub, attributes) // of the same size: git asks the filter
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, w, name).(*WorktreeDir)
			prepare(d)
			write(t, d.Path(), attributes)
			if err := os.RemoveAll(mark); err != nil {
				t.Fatal(err)
			}
			d = open(t, w, name).(*WorktreeDir)
			patch, err := d.Patch(t.Context())
			if err != nil || !strings.Contains(string(patch), "+changed") {
				t.Errorf("the patch is %q, %v", patch, err)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a planted command was run")
			}
			if err := w.Remove(t.Context(), name, store.Fence{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A git that fails does not count as an answer, and costs no branch.
func TestWorktreesOfABrokenRepository(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"f": "x"})
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir(), KeepBranches: true})
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	git(t, repo, "worktree", "add", "--quiet", "-b", "people", other)
	d := open(t, w, "k").(*WorktreeDir)
	if err := os.Rename(other, other+"-unmounted"); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(t.Context(), "k", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	// The branch is kept, and cannot be read for a moment.
	ref := filepath.Join(repo, ".git", "refs", "heads", filepath.FromSlash(d.Branch()))
	text, err := os.ReadFile(ref)
	if err := errors.Join(err, os.WriteFile(ref, []byte("garbage"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(t.Context(), "k"); err == nil {
		t.Error("a branch that cannot be read counts as missing")
	}
	if err := os.WriteFile(ref, text, 0o600); err != nil {
		t.Fatalf("the branch is gone: %v", err)
	}
	if _, err := w.Open(t.Context(), "k"); !errors.Is(err, ErrBranchExists) {
		t.Errorf("a branch that is kept: %v", err)
	}
	// The worktree of people whose disk is not mounted is still theirs.
	if err := os.Rename(other+"-unmounted", other); err != nil {
		t.Fatal(err)
	}
	git(t, other, "status")
}

// A configuration that another process has locked is waited for.
func TestLockedConfiguration(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"f": "x"})
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	lock, waited := filepath.Join(repo, ".git", "config.lock"), 0
	w.pause = func(context.Context) error {
		waited++
		if waited == 3 {
			return os.Remove(lock)
		}
		return nil
	}
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, w, "k")
	if waited != 3 {
		t.Errorf("it waited %d times", waited)
	}
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waited = 10 // the other process never ends
	if _, err := w.Open(t.Context(), "j"); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("a lock for ever: %v", err)
	}
	// Many open at once.
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	w.pause = pauseForLock
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := w.Open(t.Context(), fmt.Sprint("many", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Submodules that were never fetched, and those whose commit has changed, are in the patch
// as git has them.
func TestPatchOfSubmodules(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"f": "x\n"})
	commit := git(t, repo, "rev-parse", "HEAD")
	for _, path := range []string{"kept", "moved", "gone"} {
		git(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	}
	git(t, repo, "commit", "--quiet", "--message=links")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	if patch, err := d.Patch(t.Context()); err != nil || len(patch) > 0 {
		t.Errorf("the patch of nothing is %s, %v", patch, err)
	}
	moved := filepath.Join(d.Path(), "moved")
	git(t, d.Path(), "clone", "--quiet", repo, moved)
	git(t, moved, "commit", "--quiet", "--allow-empty", "--message=other")
	if err := os.Remove(filepath.Join(d.Path(), "gone")); err != nil {
		t.Fatal(err)
	}
	patch, err := d.Patch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := string(patch)
	if !strings.Contains(got, "+Subproject commit "+git(t, moved, "rev-parse", "HEAD")) || !strings.Contains(got, "deleted file mode 160000") || strings.Contains(got, "kept") {
		t.Errorf("the patch is %s", got)
	}
}

// A submodule that has become another repository, with a commit of its own or without one,
// is in the patch with its files: its commits are known to no other clone.
func TestPatchOfSubmodulesBegunAnew(t *testing.T) {
	long.Test(t, "needs git")
	repo, module := repository(t, map[string]string{"f": "x\n"}), repository(t, map[string]string{"m": "module\n"})
	commit := git(t, module, "rev-parse", "HEAD")
	for _, path := range []string{"sub/begun", "committed", "orphan", "same", "file"} {
		git(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	}
	git(t, repo, "commit", "--quiet", "--message=links")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	write(t, d.Path(), map[string]string{"sub/begun/f": "begun\n", "committed/f": "committed\n"})
	for _, path := range []string{"sub/begun", "committed"} {
		git(t, filepath.Join(d.Path(), path), "init", "--quiet")
	}
	git(t, filepath.Join(d.Path(), "committed"), "add", ".")
	git(t, filepath.Join(d.Path(), "committed"), "commit", "--quiet", "--message=own")
	for _, path := range []string{"orphan", "same"} {
		git(t, d.Path(), "clone", "--quiet", module, path)
	}
	git(t, filepath.Join(d.Path(), "orphan"), "checkout", "--quiet", "--orphan", "anew")
	git(t, d.Path(), "clone", "--quiet", "--separate-git-dir="+filepath.Join(t.TempDir(), "git"), module, "file")
	write(t, d.Path(), map[string]string{"orphan/m": "orphan\n"})
	patch, err := d.Patch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, repo, "clone", "--quiet", repo, clone)
	file := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, clone, "apply", "--index", file)
	for name, want := range map[string]string{"sub/begun/f": "begun\n", "committed/f": "committed\n", "orphan/m": "orphan\n"} {
		if got, _ := os.ReadFile(filepath.Join(clone, filepath.FromSlash(name))); string(got) != want {
			t.Errorf("%s has %q, want %q\n%s", name, got, want, patch)
		}
	}
	if strings.Contains(string(patch), "same") || strings.Contains(string(patch), "+++ b/file") || strings.Contains(string(patch), "+Subproject") {
		t.Errorf("the patch is %s", patch)
	}
}

// A conversation is removed although another root of the clone has its branch: that of a
// process which ran it before.
func TestRemoveBesideAnotherRoot(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	first := c.machine()
	second := machine{first.repo, t.TempDir()}
	d := open(t, c.on(first), "k").(*WorktreeDir)
	work(t, d)
	save(t, d)
	want := seen(t, d)
	wantSeen(t, "the second root", open(t, c.on(second), "k"), want)
	if err := c.on(second).Remove(t.Context(), "k", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if left := git(t, first.repo, "branch", "--list", "claude/*") + git(t, first.repo, "config", "--list", "--local"); strings.Contains(left, "claude/") {
		t.Errorf("left: %s", left)
	}
	if left, _ := os.ReadDir(second.root); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	anew := open(t, c.on(first), "k")
	if got := git(t, anew.Path(), "status", "--porcelain") + git(t, anew.Path(), "log", "--format=%s"); got != "first" {
		t.Errorf("the first root has %s", got)
	}
}

// A repository that Claude has begun or cloned in a folder is in the patch with its files,
// whether it has commits or is committed itself, and so is one in it. What it ignores is not,
// nor a repository in a folder that is ignored.
func TestPatchOfNestedRepositories(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"f": "x\n", ".gitignore": "ignored/\n", "tracked/f": "old\n"})
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	write(t, d.Path(), map[string]string{
		"begun/f": "begun\n", "begun/.gitignore": "*.log\n", "begun/x.log": "log\n", "begun/in/deep/f": "deep\n",
		"cloned/a b/f": "cloned\n", "linked/f": "linked\n", "ignored/repo/f": "ignored\n", "tracked/f": "new\n", "[o]dd/f": "odd\n",
	})
	for _, path := range []string{"begun", "begun/in/deep", "cloned/a b", "linked", "ignored/repo", "tracked", "[o]dd"} {
		git(t, filepath.Join(d.Path(), path), "init", "--quiet")
	}
	for _, path := range []string{"cloned/a b", "linked"} {
		git(t, filepath.Join(d.Path(), path), "add", ".")
		git(t, filepath.Join(d.Path(), path), "commit", "--quiet", "--message=own")
	}
	git(t, d.Path(), "add", "linked")
	git(t, d.Path(), "commit", "--quiet", "--message=link")
	state := git(t, d.Path(), "status", "--porcelain")
	patch, err := d.Patch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if now := git(t, d.Path(), "status", "--porcelain"); now != state {
		t.Errorf("the worktree was %s, and is %s", state, now)
	}
	// The patch alone brings the files.
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, repo, "clone", "--quiet", repo, clone)
	file := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, clone, "apply", file)
	for name, want := range map[string]string{
		"begun/f": "begun\n", "begun/.gitignore": "*.log\n", "begun/in/deep/f": "deep\n", "cloned/a b/f": "cloned\n", "linked/f": "linked\n",
		"tracked/f": "new\n", "[o]dd/f": "odd\n", "begun/x.log": "", "ignored/repo/f": "", "begun/.git": "", "linked/.git": "",
	} {
		if got, _ := os.ReadFile(filepath.Join(clone, name)); string(got) != want {
			t.Errorf("%s has %q, want %q\n%s", name, got, want, patch)
		}
	}
	if strings.Contains(string(patch), "Subproject") {
		t.Errorf("the patch has a link: %s", patch)
	}
}

// A patch that would fill the memory is refused.
func TestPatchTooLong(t *testing.T) {
	long.Test(t, "needs git")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repository(t, map[string]string{"f": "x\n"}), Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	write(t, d.Path(), map[string]string{"large": strings.Repeat("line\n", 100_000)})
	patch, err := d.Patch(t.Context())
	if err != nil || len(patch) < 500_000 {
		t.Fatalf("%d bytes, %v", len(patch), err)
	}
	w.maxPatch = len(patch)
	if again, err := d.Patch(t.Context()); err != nil || !bytes.Equal(patch, again) {
		t.Errorf("a patch that fits: %d bytes, %v", len(again), err)
	}
	w.maxPatch--
	if _, err := d.Patch(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a patch that is too long: %v", err)
	}
}

// More repositories than any project has are refused, before they cost as many processes.
func TestPatchOfTooManyRepositories(t *testing.T) {
	long.Test(t, "needs git")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repository(t, map[string]string{"f": "x\n"}), Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	for i := range maxNested + 1 {
		at := fmt.Sprintf("r%d/.git/", i)
		write(t, d.Path(), map[string]string{at + "HEAD": "ref: refs/heads/main\n", at + "objects/x": "", at + "refs/x": ""})
	}
	if _, err := d.Patch(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 100 git repositories") {
		t.Errorf("Patch = %v", err)
	}
}

// The patch of a conversation is found by its key, while the worktree is open and after, and
// has one form whatever the settings of the repository are. There is none where no worktree is.
func TestPatchByKey(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"main.go": "package main\n"})
	for _, setting := range []string{"diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.submodule=log", "color.ui=always", "diff.relative=true", "diff.suppressBlankEmpty=true", "diff.ignoreSubmodules=all"} {
		name, value, _ := strings.Cut(setting, "=")
		git(t, repo, "config", name, value)
	}
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Patch(t.Context(), "ada"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before there is a worktree: %v", err)
	}
	if _, err := w.Patch(t.Context(), "../ada"); !errors.Is(err, ErrKey) {
		t.Errorf("a key that leads away: %v", err)
	}
	d := open(t, w, "ada").(*WorktreeDir)
	write(t, d.Path(), map[string]string{"sub/by-a-command": "made\n"})
	const want = "--- /dev/null\n+++ b/sub/by-a-command\n@@ -0,0 +1 @@\n+made\n"
	if patch, err := w.Patch(t.Context(), "ada"); err != nil || !strings.HasSuffix(string(patch), want) {
		t.Errorf("the patch of an open worktree is %q, %v", patch, err)
	}
	git(t, d.Path(), "add", ".")
	git(t, d.Path(), "commit", "--quiet", "--message=work")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if patch, err := w.Patch(t.Context(), "ada"); err != nil || !strings.HasSuffix(string(patch), want) {
		t.Errorf("the patch of a closed worktree is %q, %v", patch, err)
	}
	if err := w.Remove(t.Context(), "ada", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Patch(t.Context(), "ada"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("when it is removed: %v", err)
	}
}

// A patch that is made by key runs no file of the worktree, although a filter of the
// repository names one, and leaves nothing in the repository.
func TestPatchByKeyOnlyReads(t *testing.T) {
	long.Test(t, "needs git")
	need.Shell.Test(t)
	repo := repository(t, map[string]string{"a.txt": "one\n\ntwo\n"})
	git(t, repo, "config", "filter.own.clean", "./clean.sh")
	git(t, repo, "config", "filter.own.required", "true")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "ada").(*WorktreeDir)
	ran := filepath.Join(t.TempDir(), "ran")
	write(t, d.Path(), map[string]string{".gitattributes": "*.txt filter=own\n", "a.txt": "one\n\nthree\n", "clean.sh": "#!/bin/sh\ntouch '" + ran + "'\ncat\n"})
	if err := os.Chmod(filepath.Join(d.Path(), "clean.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := git(t, repo, "count-objects")
	patch, err := w.Patch(t.Context(), "ada")
	if err != nil || !strings.Contains(string(patch), " one\n \n-two\n+three\n") {
		t.Errorf("Patch = %q, %v", patch, err)
	}
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of the worktree ran: %v", err)
	}
	if after := git(t, repo, "count-objects"); after != before {
		t.Errorf("the repository has %s, and had %s", after, before)
	}
	if _, err := d.Patch(t.Context()); err != nil { // its caller has the worktree
		t.Error(err)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("the filter of the repository did not run: %v", err)
	}
}

// A folder that becomes a link is not followed out of the worktree.
func TestStays(t *testing.T) {
	need.Symlinks.Test(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/b/f": "x"})
	if err := stays(dir, "a/b"); err != nil {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "c"), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "a/b"} {
		if err := stays(dir, path); err == nil {
			t.Errorf("%s is a link", path)
		}
	}
}
