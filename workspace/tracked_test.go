package workspace

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

func TestTracked(t *testing.T) {
	got := parseTracked("a\x00v/w/x\x00v/y\x00odd \n\xff\x00.git/config\x00sub/.GIT/config\x00v.d/z\x00")
	want := tracked{"a": true, "v": false, "v/w": false, "v/w/x": true, "v/y": true, "odd \n\xff": true, "v.d": false, "v.d/z": true}
	if !maps.Equal(got, want) {
		t.Errorf("it reads %v, want %v", got, want)
	}
	if got, want := got.in([]string{"v", "a/b", "odd \n\xff"}), []string{"odd \n\xff", "v/w/x", "v/y"}; !slices.Equal(got, want) {
		t.Errorf("among them are %q, want %q", got, want)
	}
	if got := parseTracked(""); len(got) != 0 || got.has("") {
		t.Errorf("of nothing it reads %v", got)
	}
}

// In an ignored folder, what git tracks is listed, with the folders above it, and nothing else.
func TestScanKeepsTracked(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"vendor/kept": "k", "vendor/other": "o", "vendor/deep/x": "x", "vendor/deep/y": "y", "vendor/none/z": "z", "a.o": "o", "main": "m"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ignore, err := parseIgnore([]string{"vendor/", "*.o"})
	if err != nil {
		t.Fatal(err)
	}
	for tracks, want := range map[string][]string{
		"":                             {"main"},
		"vendor/kept\x00vendor/deep/x": {"main", "vendor", "vendor/deep", "vendor/deep/x", "vendor/kept"},
		"a.o\x00vendor/gone":           {"a.o", "main", "vendor"},
	} {
		list := scan{ignore: ignore, tracked: parseTracked(tracks), maxFiles: 100, maxBytes: 1000}
		if err := list.walk(t.Context(), root, "", false); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list.found {
			got = append(got, f.name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %q tracked it lists %q, want %q", tracks, got, want)
		}
	}
}

// A tracked file that Ignore names, or that could not be read, is not one that Claude has
// deleted: on the next machine git sees the same as on the first.
func TestIgnoredAndUnreadFilesAreNotDeleted(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, map[string]string{"main.go": "package main\n", "vendor/kept": "kept\n", "vendor/changed": "old\n", "vendor/deep/x": "x\n", "secret": "s\n", "secrets/one": "1\n"})
	a, b := c.machine(), c.machine()
	forbid := func(o *SnapshotOptions) {
		o.Ignore = []string{"vendor/", "*.pb.go", "node_modules/"}
		o.step = func(what string) error {
			if what == "read secret" || what == "read secrets/one" {
				return &fs.PathError{Op: "open", Path: what, Err: fs.ErrPermission}
			}
			return nil
		}
	}
	d := open(t, c.on(a, forbid), "k")
	write(t, d.Path(), map[string]string{"vendor/committed": "c\n", "new.pb.go": "package pb\n"})
	git(t, d.Path(), "add", ".")
	git(t, d.Path(), "commit", "--quiet", "--message=one")
	write(t, d.Path(), map[string]string{"vendor/staged": "s\n", "vendor/changed": "new\n"})
	git(t, d.Path(), "add", "vendor/staged")
	want := seen(t, d)
	write(t, d.Path(), map[string]string{"vendor/untracked": "u\n", "vendor/deep/untracked": "u\n", "node_modules/n": "n\n", "other.pb.go": "package pb\n"})
	save(t, d)
	there := open(t, c.on(b, forbid), "k")
	wantSeen(t, "the next machine", there, want)
	git(t, there.Path(), "commit", "--quiet", "--all", "--message=two")
	if names := git(t, there.Path(), "diff", "--name-status", "HEAD~2"); names != "A\tnew.pb.go\nM\tvendor/changed\nA\tvendor/committed\nA\tvendor/staged" {
		t.Errorf("the commits change %s", names)
	}
	// A deletion is one on the next machine too.
	if err := os.Remove(filepath.Join(there.Path(), "vendor", "kept")); err != nil {
		t.Fatal(err)
	}
	save(t, there)
	want = seen(t, there)
	wantSeen(t, "the third machine", open(t, c.on(c.machine(), forbid), "k"), want)
}
