package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// clones are machines with clones of one repository, and what they share.
type clones struct {
	*shared
	t      testing.TB
	origin string
}

func newClones(t testing.TB, files map[string]string) *clones {
	return &clones{newShared(t), t, repository(t, files)}
}

// machine is a clone, and where its worktrees are.
type machine struct{ repo, root string }

func (c *clones) machine() machine {
	c.t.Helper()
	m := machine{filepath.Join(c.t.TempDir(), "clone"), c.t.TempDir()}
	git(c.t, c.origin, "clone", "--quiet", c.origin, m.repo)
	return m
}

// on is a process on a machine.
func (c *clones) on(m machine, change ...func(*SnapshotOptions)) *Snapshots {
	c.t.Helper()
	w, err := NewWorktrees(c.t.Context(), WorktreeOptions{Repo: m.repo, Root: m.root})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.worker(c.t, "", append(change, func(o *SnapshotOptions) { o.Worktrees = w })...)
}

// seen is everything that can be seen of a worktree: files, and what git thinks of them.
func seen(t testing.TB, d Workdir) tree {
	t.Helper()
	got := readTree(t, d.Path())
	delete(got, gitDir)
	for _, args := range [][]string{
		{"rev-parse", d.(*WorktreeDir).Branch()}, {"status", "--porcelain=v2", "--ignored", "--branch"}, {"fsck", "--no-dangling"},
	} {
		got["git "+args[0]+" "+args[len(args)-1]] = git(t, d.Path(), args...)
	}
	return got
}

func wantSeen(t testing.TB, what string, d Workdir, want tree) {
	t.Helper()
	if got := seen(t, d); !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %s is %q, want %q", what, name, got[name], want[name])
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s: %s is %q", what, name, got[name])
			}
		}
	}
}

// before a conversation works, and what it does.
var (
	committed = map[string]string{"main.go": "package main\n", "old": "old\n", "same": "same\n", ".gitignore": "*.o\n", ".gitattributes": "crlf eol=crlf\n", "crlf": "a\nb\n"}
	laterWork = map[string]string{"main.go": "package later\n", "later": "l\n"}
)

// work leaves a worktree with commits, with something staged, changed, untracked, ignored,
// removed and made executable.
func work(t testing.TB, d Workdir) {
	t.Helper()
	dir := d.Path()
	write(t, dir, map[string]string{"main.go": "package one\n", "committed": "c\n"})
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=one")
	write(t, dir, map[string]string{"main.go": "package staged\n", "staged": "s\n"})
	git(t, dir, "add", ".")
	write(t, dir, map[string]string{"main.go": "package changed\n", "new/file": "n\x00\n", "a.o": "object"})
	if err := errors.Join(os.Remove(filepath.Join(dir, "old")), os.Chmod(filepath.Join(dir, "committed"), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// A worktree goes to another machine with its branch, its commits, what is staged and every
// file, comes back with what was done there, and is gone everywhere when it is removed. What
// the repository has anyway does not travel.
func TestWorktreeTravels(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	a, b := c.machine(), c.machine()
	first := open(t, c.on(a), "acme/ada")
	work(t, first)
	save(t, first)
	want := seen(t, first)
	chunks := 0
	for range c.blobs.List(t.Context(), time.Now().Add(time.Hour)) {
		chunks++
	}
	if chunks > 9 { // main.go, committed, staged, new/file, a.o, crlf by its filter, a pack, the state, the list
		t.Errorf("%d chunks were put", chunks)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, c.on(b), "acme/ada").(*WorktreeDir)
	wantSeen(t, "the other machine", second, want)
	if second.Base() != first.(*WorktreeDir).Base() || second.Branch() != first.(*WorktreeDir).Branch() {
		t.Errorf("it began at %s of %s", second.Base(), second.Branch())
	}
	patch, err := second.Patch(t.Context())
	if err != nil || !strings.Contains(string(patch), "+package changed") {
		t.Errorf("its patch is %s, %v", patch, err)
	}
	for i := range 3 { // packs upon packs
		write(t, second.Path(), map[string]string{"later": fmt.Sprint(i)})
		git(t, second.Path(), "add", ".")
		git(t, second.Path(), "commit", "--quiet", fmt.Sprint("--message=", i))
		save(t, second)
	}
	write(t, second.Path(), laterWork)
	save(t, second)
	want = seen(t, second)
	again := open(t, c.on(a), "acme/ada")
	wantSeen(t, "back on the first machine", again, want)
	if list := git(t, a.repo, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 2 {
		t.Errorf("the repository has %s", list)
	}
	save(t, again) // nothing has changed, and it is not put again
	wantSeen(t, "saved again", open(t, c.on(b), "acme/ada"), want)
	if err := c.on(a).Remove(t.Context(), "acme/ada", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if left := git(t, a.repo, "branch", "--list", "claude/*") + git(t, a.repo, "worktree", "list", "--porcelain"); strings.Contains(left, "claude/") {
		t.Errorf("left: %s", left)
	}
	if left, _ := os.ReadDir(a.root); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	anew := open(t, c.on(b), "acme/ada")
	if got := git(t, anew.Path(), "status", "--porcelain") + git(t, anew.Path(), "log", "--format=%s"); got != "first" {
		t.Errorf("after it was removed, the other machine has %s", got)
	}
}

// A save and a restore that are killed with SIGKILL at any step leave the last whole
// state: files, branch, commits and what is staged, never a mix.
func TestWorktreeKilledAtEveryStep(t *testing.T) {
	long.Test(t, "needs git, and starts and kills processes")
	c := newClones(t, map[string]string{"main.go": "package main\n", "old": "old\n"})
	first := func(d Workdir) {
		write(t, d.Path(), map[string]string{"main.go": "package one\n"})
		git(t, d.Path(), "commit", "--quiet", "--all", "--message=one")
		write(t, d.Path(), map[string]string{"main.go": "package staged\n"})
		git(t, d.Path(), "add", ".")
		write(t, d.Path(), map[string]string{"main.go": "package changed\n"})
	}
	later := func(d Workdir) {
		write(t, d.Path(), laterWork)
		git(t, d.Path(), "commit", "--quiet", "--all", "--message=later")
		write(t, d.Path(), map[string]string{"later": "uncommitted\n"})
	}
	for _, do := range []string{"save", "restore", "restore over an older state"} {
		for n := 0; ; n++ {
			dir := t.TempDir()
			on := func(m machine) *Snapshots { return travelling(t, m, dir, nil) }
			a, b := c.machine(), c.machine()
			d := open(t, on(a), "k")
			first(d)
			save(t, d)
			if do == "restore over an older state" {
				open(t, on(b), "k")
			}
			old, doing, on1 := seen(t, d), do, b
			later(d)
			fresh := seen(t, d)
			if do == "save" {
				on1 = a
			} else {
				save(t, d)
				doing, old = "restore", fresh
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s|%s|%s", victim, doing, n, on1.root, dir, on1.repo))
			out, err := cmd.CombinedOutput()
			if err != nil && cmd.ProcessState.Exited() {
				t.Fatalf("%s, %d steps: %v: %s", do, n, err, out)
			}
			what := fmt.Sprintf("%s, killed after %d steps", do, n)
			there := open(t, on(b), "k")
			if got := seen(t, there); !maps.Equal(got, fresh) && (err == nil || !maps.Equal(got, old)) {
				wantSeen(t, what, there, fresh)
			}
			if do == "save" {
				wantSeen(t, what+", the same machine", open(t, on(a), "k"), fresh)
			}
			if left, _ := filepath.Glob(filepath.Join(b.root, ".*-*")); len(left) > 1 { // the index
				t.Errorf("%s: %q is left", what, left)
			}
			if list := git(t, b.repo, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 2 || strings.Contains(git(t, b.repo, "branch"), "unsaved") {
				t.Errorf("%s: the repository has %s", what, list)
			}
			if err == nil {
				t.Logf("%s: killed after each of %d steps", do, n)
				if n < 8 {
					t.Errorf("%s has only %d steps", do, n)
				}
				break
			}
		}
	}
}

// travelling is a process on a machine that shares a folder with others.
func travelling(t testing.TB, m machine, dir string, step func(string) error) *Snapshots {
	t.Helper()
	s, err := travellingIn(m.repo, m.root, dir, step)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func travellingIn(repo, root, dir string, step func(string) error) (*Snapshots, error) {
	w, err := NewWorktrees(context.Background(), WorktreeOptions{Repo: repo, Root: root})
	if err != nil {
		return nil, err
	}
	return NewSnapshots(SnapshotOptions{Worktrees: w, Records: store.Files(dir), Project: "p", Blobs: FileBlobs(filepath.Join(dir, "blobs")), step: step})
}

// Commits and files that were never saved are not lost when another machine has saved.
func TestUnsavedCommits(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	a, b := c.machine(), c.machine()
	first := open(t, c.on(a), "k").(*WorktreeDir)
	save(t, first)
	write(t, first.Path(), map[string]string{"unsaved": "u\n"})
	git(t, first.Path(), "add", ".")
	git(t, first.Path(), "commit", "--quiet", "--message=unsaved")
	commit := git(t, first.Path(), "rev-parse", "HEAD")
	second := open(t, c.on(b), "k")
	work(t, second)
	save(t, second)
	want := seen(t, second)
	wantSeen(t, "the first machine", open(t, c.on(a), "k"), want)
	kept := strings.TrimSpace(git(t, a.repo, "branch", "--list", first.Branch()+"-unsaved-*"))
	if kept == "" || git(t, a.repo, "rev-parse", kept) != commit {
		t.Errorf("the branch %q was kept", kept)
	}
	if left, _ := filepath.Glob(filepath.Join(a.root, ".*unsaved*", "unsaved")); len(left) != 1 {
		t.Errorf("the files %q were kept", left)
	}
	if err := c.on(a).Remove(t.Context(), "k", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if left := git(t, a.repo, "branch", "--list", "claude/*"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// Whatever Claude does with git, the worktree travels.
func TestOddWorktreesTravel(t *testing.T) {
	long.Test(t, "needs git")
	for name, do := range map[string]func(dir string){
		"nothing": func(string) {},
		"detached": func(dir string) {
			git(t, dir, "checkout", "--quiet", "--detach")
			git(t, dir, "commit", "--quiet", "--allow-empty", "--message=detached")
		},
		"a branch of its own": func(dir string) {
			git(t, dir, "checkout", "--quiet", "-b", "mine")
			git(t, dir, "commit", "--quiet", "--allow-empty", "--message=mine")
		},
		"no commit": func(dir string) { git(t, dir, "checkout", "--quiet", "--orphan", "empty") },
		"a conflict": func(dir string) {
			git(t, dir, "checkout", "--quiet", "-b", "side")
			write(t, dir, map[string]string{"old": "side\n"})
			git(t, dir, "commit", "--quiet", "--all", "--message=side")
			git(t, dir, "checkout", "--quiet", "-")
			write(t, dir, map[string]string{"old": "here\n"})
			git(t, dir, "commit", "--quiet", "--all", "--message=here")
			if out, err := gitCommand(t.Context(), dir, nil, []string{"merge", "side"}).CombinedOutput(); err == nil {
				t.Errorf("the merge has no conflict: %s", out)
			}
		},
		"a repository instead": func(dir string) {
			if err := os.Remove(filepath.Join(dir, gitDir)); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "init", "--quiet")
		},
		"no index": func(dir string) {
			if err := os.Remove(git(t, dir, "rev-parse", "--git-path", "index")); err != nil {
				t.Fatal(err)
			}
		},
		"a history of its own": func(dir string) {
			git(t, dir, "reset", "--quiet", "--hard", git(t, dir, "commit-tree", "-m", "own", "HEAD^{tree}"))
		},
		"a tree that git refuses": func(dir string) {
			blob := git(t, dir, "rev-parse", "HEAD:old")
			bad := filepath.Join(t.TempDir(), "tree")
			if err := os.WriteFile(bad, []byte("100644 blob "+blob+"\t.git\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(bad)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			cmd := gitCommand(t.Context(), dir, nil, []string{"mktree"})
			cmd.Stdin = in
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			git(t, dir, "update-ref", "HEAD", git(t, dir, "commit-tree", "-m", "bad", "-p", "HEAD", strings.TrimSpace(string(out))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClones(t, committed)
			d := open(t, c.on(c.machine()), "k").(*WorktreeDir)
			write(t, d.Path(), map[string]string{"untracked": "u\n"})
			do(d.Path())
			save(t, d)
			files := readTree(t, d.Path())
			files = maps.Clone(files)
			maps.DeleteFunc(files, func(name, _ string) bool { return name == gitDir || strings.HasPrefix(name, gitDir+"/") })
			env, err := d.w.inside(d.Path())
			if err != nil {
				t.Fatal(err)
			}
			want, err := d.w.resolve(t.Context(), env, "HEAD", d.Branch())
			if err != nil {
				t.Fatal(err)
			}
			if want[0] == "" {
				want[0] = want[1]
			}
			other := open(t, c.on(c.machine()), "k").(*WorktreeDir)
			got := readTree(t, other.Path())
			delete(got, gitDir)
			if !maps.Equal(got, files) {
				t.Errorf("it has %q, want %q", got, files)
			}
			if head, tip := git(t, other.Path(), "rev-parse", "HEAD"), git(t, other.Path(), "rev-parse", other.Branch()); head != want[0] || tip != want[1] {
				t.Errorf("HEAD is %s and the branch %s, want %s", head, tip, want)
			}
			git(t, other.Path(), "status")
			write(t, other.Path(), map[string]string{"untracked": "more\n"})
			save(t, other)
		})
	}
}

// What cannot travel says why, and changes nothing.
func TestWorktreesThatCannotTravel(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	a, b := c.machine(), c.machine()
	write(t, a.repo, map[string]string{"ahead": "x\n"})
	git(t, a.repo, "add", ".")
	git(t, a.repo, "commit", "--quiet", "--message=ahead")
	d := open(t, c.on(a), "k").(*WorktreeDir)
	work(t, d)
	save(t, d)
	want := seen(t, d)
	if _, err := c.on(b).Open(t.Context(), "k"); !errors.Is(err, ErrBaseMissing) || !strings.Contains(err.Error(), d.Base()) {
		t.Errorf("a clone that is behind: %v", err)
	}
	git(t, b.repo, "fetch", "--quiet", a.repo, "HEAD")
	git(t, b.repo, "branch", d.Branch(), git(t, b.repo, "commit-tree", "-m", "theirs", "HEAD^{tree}"))
	if _, err := c.on(b).Open(t.Context(), "k"); !errors.Is(err, ErrBranchExists) {
		t.Errorf("a branch of people: %v", err)
	}
	if git(t, b.repo, "log", "-1", "--format=%s", d.Branch()) != "theirs" {
		t.Error("their branch was changed")
	}
	git(t, b.repo, "branch", "-D", d.Branch())
	if _, err := c.worker(t, t.TempDir()).Open(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "set SnapshotOptions.Worktrees") {
		t.Errorf("opened as a plain folder: %v", err)
	}
	save(t, open(t, c.worker(t, t.TempDir()), "plain"))
	if _, err := c.on(b).Open(t.Context(), "plain"); err == nil || !strings.Contains(err.Error(), "leave SnapshotOptions.Worktrees empty") {
		t.Errorf("a plain folder opened as a worktree: %v", err)
	}
	write(t, d.Path(), map[string]string{"large": strings.Repeat("x", 1000)})
	git(t, d.Path(), "add", ".")
	git(t, d.Path(), "commit", "--quiet", "--message=large")
	var bound *BoundError
	small := open(t, c.on(a, func(o *SnapshotOptions) { o.MaxBytes = 1200 }), "k")
	if err := small.Save(t.Context(), store.Fence{}); !errors.As(err, &bound) || !strings.Contains(err.Error(), "commits") {
		t.Errorf("a pack beyond the bound: %v", err)
	}
	wantSeen(t, "in the end", open(t, c.on(b), "k"), want)
	if list := git(t, b.repo, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 2 {
		t.Errorf("the repository has %s", list)
	}
	if _, err := NewSnapshots(SnapshotOptions{Worktrees: c.on(a).Worktrees, Root: "x", Records: c.records, Project: "p", Blobs: c.blobs}); err == nil || !strings.Contains(err.Error(), "Root") {
		t.Errorf("two roots: %v", err)
	}
}
