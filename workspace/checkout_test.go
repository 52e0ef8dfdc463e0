package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// leftovers are the traces of a process that is killed while it makes a worktree, from the
// first step to the last. Each is made of a whole worktree.
var leftovers = []struct {
	name string
	cut  func(t *testing.T, repo, path, admin, branch string)
}{
	{"only the mark", func(t *testing.T, repo, path, admin, branch string) {
		remove(t, path, admin)
		git(t, repo, "branch", "-D", branch)
	}},
	{"a branch", func(t *testing.T, repo, path, admin, branch string) { remove(t, path, admin) }},
	{"an empty folder that git does not know", func(t *testing.T, repo, path, admin, branch string) {
		remove(t, path, filepath.Join(admin, "gitdir"), filepath.Join(admin, "HEAD"))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}},
	{"no files yet", func(t *testing.T, repo, path, admin, branch string) {
		remove(t, filepath.Join(path, "a"), filepath.Join(path, "b"), filepath.Join(admin, "index"))
	}},
	{"half of the files", func(t *testing.T, repo, path, admin, branch string) {
		remove(t, filepath.Join(path, "b"))
		if err := os.Rename(filepath.Join(admin, "index"), filepath.Join(admin, "index.lock")); err != nil {
			t.Fatal(err)
		}
	}},
	{"all files", func(t *testing.T, repo, path, admin, branch string) {}},
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A worktree whose first checkout was killed is made again as a whole. Branches of others,
// and those with work on them, stay.
func TestKilledCheckout(t *testing.T) {
	long.Test(t, "needs git")
	for _, l := range leftovers {
		t.Run(l.name, func(t *testing.T) {
			repo := repository(t, map[string]string{"a": "1", "b": "2"})
			w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			d := open(t, w, "k").(*WorktreeDir)
			want := readTree(t, d.Path())
			delete(want, ".git") // names the folder of git, with a number if that is left
			admin, err := w.admin(d.Path())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(markPath(d.Path())); err == nil {
				t.Error("a worktree that is whole still counts as being made")
			}
			write(t, filepath.Dir(d.Path()), map[string]string{filepath.Base(markPath(d.Path())): d.Base() + "\n"})
			l.cut(t, repo, d.Path(), admin, d.Branch())
			git(t, repo, "commit", "--quiet", "--allow-empty", "--message=later") // HEAD moves on
			again := open(t, w, "k").(*WorktreeDir)
			got := readTree(t, again.Path())
			delete(got, ".git")
			if len(got) != len(want) || got["a"] != want["a"] || got["b"] != want["b"] {
				t.Errorf("the worktree has %q", got)
			}
			if dirty := git(t, again.Path(), "status", "--porcelain"); dirty != "" || again.Base() != git(t, repo, "rev-parse", "HEAD") || git(t, again.Path(), "branch", "--show-current") != d.Branch() {
				t.Errorf("it begins at %s with %q", again.Base(), dirty)
			}
			if err := w.Remove(t.Context(), "k", store.Fence{}); err != nil {
				t.Fatal(err)
			}
			left, _ := os.ReadDir(filepath.Join(w.common, "worktrees"))
			files, _ := os.ReadDir(w.o.Root)
			if len(left)+len(files) > 0 || git(t, repo, "branch", "--list", d.Branch()) != "" {
				t.Errorf("%v and %v are left", left, files)
			}
		})
	}
	repo := repository(t, map[string]string{"a": "1"})
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	base := d.Base()
	git(t, d.Path(), "commit", "--quiet", "--allow-empty", "--message=work")
	write(t, filepath.Dir(d.Path()), map[string]string{filepath.Base(markPath(d.Path())): base + "\n"})
	if _, err := w.Open(t.Context(), "k"); !errors.Is(err, ErrBranchExists) {
		t.Errorf("a branch with work on it: %v", err)
	}
}

// A mark without a whole commit was left before anything was made: it costs no branch, and
// no worktree.
func TestEmptyMark(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"a": "1"})
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, w, "k").(*WorktreeDir)
	write(t, d.Path(), map[string]string{"a": "work"})
	git(t, repo, "branch", w.Branch("taken"))
	for _, text := range []string{"", "\n", d.Base()[:20], d.Base(), strings.Repeat("x", 40) + "\n"} {
		for _, key := range []string{"k", "taken"} {
			write(t, w.o.Root, map[string]string{filepath.Base(markPath(w.path(key))): text})
		}
		open(t, w, "k")
		if got, err := os.ReadFile(filepath.Join(d.Path(), "a")); err != nil || string(got) != "work" {
			t.Errorf("after the mark %q the file has %q, %v", text, got, err)
		}
		if _, err := w.Open(t.Context(), "taken"); !errors.Is(err, ErrBranchExists) {
			t.Errorf("after the mark %q: %v", text, err)
		}
		if left, _ := filepath.Glob(filepath.Join(w.o.Root, ".*")); len(left) > 0 {
			t.Errorf("after the mark %q, %q is left", text, left)
		}
	}
}

// The mark is on disk before git begins. If it cannot be written, nothing is made and
// nothing is left.
func TestMarkIsDurable(t *testing.T) {
	long.Test(t, "needs git")
	repo := repository(t, map[string]string{"a": "1"})
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	made := func() bool {
		_, err := os.Lstat(w.path("k"))
		return err == nil || git(t, repo, "branch", "--list", "claude/*") != "" || strings.Contains(git(t, repo, "config", "--list", "--local"), "claudebase")
	}
	synced := 0
	w.sync = func(f *os.File) error {
		synced++
		if text, err := os.ReadFile(f.Name()); err != nil || string(text) != git(t, repo, "rev-parse", "HEAD")+"\n" || made() {
			t.Errorf("the mark has %q, %v, when it is synced, and something is made: %v", text, err, made())
		}
		return syscall.ENOSPC
	}
	if _, err := w.Open(t.Context(), "k"); !errors.Is(err, ErrFull) || made() {
		t.Errorf("a full disk: %v, and something is made: %v", err, made())
	}
	if left, _ := os.ReadDir(w.o.Root); len(left) > 0 || synced != 1 {
		t.Errorf("%v is left after %d syncs", left, synced)
	}
	w.sync = (*os.File).Sync
	open(t, w, "k")
}
