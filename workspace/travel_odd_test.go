package workspace

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// refused makes a tree that git does not read into an index.
func refused(t *testing.T, dir string) string {
	t.Helper()
	cmd := gitCommand(t.Context(), dir, nil, []string{"mktree"})
	cmd.Stdin = strings.NewReader("100644 blob " + git(t, dir, "rev-parse", "HEAD:old") + "\t.git\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// If git refuses what was staged, its index becomes what is closest to it: a plain commit
// then takes back nothing. It is logged.
func TestRefusedIndex(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	var said bytes.Buffer
	s := c.on(c.machine(), func(o *SnapshotOptions) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	d := open(t, s, "k").(*WorktreeDir)
	write(t, d.Path(), map[string]string{"new": "n\n"})
	git(t, d.Path(), "add", ".")
	git(t, d.Path(), "commit", "--quiet", "--message=one")
	bad := refused(t, d.Path())
	head := git(t, d.Path(), "rev-parse", "HEAD")
	env, err := d.w.inside(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ what, staged, head, want string }{
		{"nothing is refused", head + "^{tree}", head, ""},
		{"what was staged", bad, head, ""},
		{"what was staged, and the commit", bad, git(t, d.Path(), "commit-tree", "-m", "bad", bad), "D  new\n?? new"},
	} {
		said.Reset()
		if err := d.fillIndex(t.Context(), d.Path(), env, &gitState{Base: d.base, Staged: tt.staged, Head: tt.head}, s); err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
		if got := git(t, d.Path(), "status", "--porcelain"); got != tt.want {
			t.Errorf("%s: git shows %q, want %q", tt.what, got, tt.want)
		}
		if logged := strings.Contains(said.String(), "refuses"); logged != (tt.staged == bad) {
			t.Errorf("%s: logged %q", tt.what, said.String())
		}
	}
	if err := d.fillIndex(t.Context(), d.Path(), env, &gitState{Base: bad, Head: bad}, s); err == nil {
		t.Error("everything is refused, without an error")
	}
}

// Commits that were never saved go with their conversation, and the branch of another one
// stays, whatever its name.
func TestRemoveLeavesOtherBranches(t *testing.T) {
	long.Test(t, "needs git")
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repository(t, committed), Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, w, "a").(*WorktreeDir)
	other := open(t, w, nameOf("a")+"-unsaved").(*WorktreeDir)
	if !strings.HasPrefix(other.Branch(), a.Branch()+unsavedBranch) {
		t.Fatalf("%s does not begin with %s", other.Branch(), a.Branch())
	}
	unsaved := a.Branch() + unsavedBranch + a.Base()[:unsavedDigits]
	git(t, w.o.Repo, "branch", unsaved)
	if err := w.Remove(t.Context(), "a", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if left := git(t, w.o.Repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/claude"); left != other.Branch() {
		t.Errorf("the branches are %s, want %s", left, other.Branch())
	}
	git(t, other.Path(), "status")
}

func TestIsUnsaved(t *testing.T) {
	for name, want := range map[string]bool{
		"b-unsaved-0123456789ab": true, "b-unsaved-0123456789abcdef": false, "b-unsaved-0123456789a": false, "b-unsaved-x123456789ab": false, "b-unsaved-": false, "b": false, "c-unsaved-0123456789ab": false,
	} {
		if got := isUnsaved(name, "b"); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A state that lacks a commit is damaged, and not one of a clone that has to fetch. Without
// an index it is whole.
func TestDamagedState(t *testing.T) {
	s := newShared(t).worker(t, t.TempDir())
	name := strings.Repeat("0a", 20)
	for what, tt := range map[string]struct {
		state gitState
		whole bool
	}{
		"whole": {gitState{Base: name, Tip: name, Head: name, Staged: name}, true}, "no index": {gitState{Base: name, Tip: name, Head: name}, true},
		"no base": {gitState{Tip: name, Head: name}, false}, "no tip": {gitState{Base: name, Head: name}, false}, "no head": {gitState{Base: name, Tip: name}, false},
		"nothing": {}, "no base, but an index": {gitState{Tip: name, Head: name, Staged: name}, false}, "an index of another kind": {gitState{Base: name, Tip: name, Head: name, Staged: "HEAD"}, false},
	} {
		text, err := withGit(t.Context(), nil, &tt.state, &putter{s: s, known: make(map[string]bool)})
		if err != nil {
			t.Fatal(err)
		}
		all, err := decodeManifest(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.splitGit(t.Context(), all); (err == nil) != tt.whole || err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A git that fails while it hands out objects is heard to the end.
func TestObjectReaderHearsGit(t *testing.T) {
	long.Test(t, "needs git")
	d := &WorktreeDir{w: &Worktrees{o: WorktreeOptions{Repo: t.TempDir()}}} // not a repository
	r, err := d.reader(t.Context(), []entry{{Path: "f", Object: strings.Repeat("0a", 20)}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.copyNext(new(bytes.Buffer), 1); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("it reports %v", err)
	}
}

// What git noted of a restored worktree before it was killed is removed by the next restore.
func TestNamelessWorktrees(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	b := c.machine()
	first := open(t, c.on(c.machine()), "k")
	save(t, first)
	begun := filepath.Join(b.root, hidden+nameOf("k")+freshly+"ABC")
	git(t, b.repo, "worktree", "add", "--quiet", "--detach", "--lock", begun)
	all := filepath.Join(b.repo, ".git", "worktrees")
	admins, err := os.ReadDir(all)
	if err != nil || len(admins) != 1 {
		t.Fatal(admins, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(all, admins[0].Name(), "gitdir")), os.RemoveAll(begun)); err != nil {
		t.Fatal(err)
	}
	git(t, b.repo, "worktree", "add", "--quiet", "--detach", filepath.Join(t.TempDir(), "people"))
	open(t, c.on(b), "k")
	if now, err := os.ReadDir(all); err != nil || len(now) != 2 || now[0].Name() == admins[0].Name() || now[1].Name() == admins[0].Name() {
		t.Errorf("git has noted %v, %v", now, err)
	}
}
