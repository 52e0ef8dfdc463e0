package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// leftovers are what a process may leave that is killed while a worktree is made, from its
// first step to its last. Each is made of a whole worktree.
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
			if _, err := os.Lstat(making(d.Path())); err == nil {
				t.Error("a worktree that is whole still counts as being made")
			}
			write(t, filepath.Dir(d.Path()), map[string]string{filepath.Base(making(d.Path())): d.Base()})
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
	write(t, filepath.Dir(d.Path()), map[string]string{filepath.Base(making(d.Path())): base})
	if _, err := w.Open(t.Context(), "k"); !errors.Is(err, ErrBranchExists) {
		t.Errorf("a branch with work on it: %v", err)
	}
}
