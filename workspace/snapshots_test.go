package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// tree is the content of a folder by path, with a slash behind folders and the
// target of a link behind "-> ".
type tree map[string]string

// readTree reads a folder, whatever is in it.
func readTree(t testing.TB, dir string) tree {
	t.Helper()
	got := make(tree)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		name := filepath.ToSlash(rel)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			got[name+"/"] = info.Mode().Perm().String()
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			got[name] = "-> " + target
			return err
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			got[name] = info.Mode().Perm().String() + " " + string(text)
			return err
		default:
			got[name] = info.Mode().Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// shared is the state that the workers of a test have in common.
type shared struct {
	records *store.MemoryStore
	blobs   Blobs
}

func newShared(t testing.TB) *shared {
	return &shared{store.Memory(), FileBlobs(filepath.Join(t.TempDir(), "blobs"))}
}

func (s *shared) worker(t testing.TB, root string, change ...func(*SnapshotOptions)) *Snapshots {
	t.Helper()
	o := SnapshotOptions{Root: root, Records: s.records, Project: "p", Blobs: s.blobs}
	for _, do := range change {
		do(&o)
	}
	w, err := NewSnapshots(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func open(t testing.TB, p Provider, key string) Workdir {
	t.Helper()
	d, err := p.Open(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func save(t testing.TB, d Workdir) {
	t.Helper()
	if err := d.Save(context.Background(), store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

func wantTree(t testing.TB, what, dir string, want tree) {
	t.Helper()
	if got := readTree(t, dir); !maps.Equal(got, want) {
		t.Errorf("%s has\n%q, want\n%q", what, got, want)
	}
}

// Files, folders, links and permissions travel; pipes and the .git file of a worktree do
// not, and neither does what is ignored.
func TestSnapshotTravels(t *testing.T) {
	need.FileModes.Test(t)
	need.UnixPaths.Test(t) // for names with quotes and line feeds
	s := newShared(t)
	ignored := func(o *SnapshotOptions) { o.Ignore = []string{"node_modules/", "*.o", "!keep.o", "/build"} }
	a := open(t, s.worker(t, t.TempDir(), ignored), "acme/ada")
	large := strings.Repeat("0123456789abcdef", 3*MaxBlob/32) // one and a half chunks
	write(t, a.Path(), map[string]string{
		"main.go": "package main", "sub/deep/file": "x", "empty": "", "large": large, ".git/HEAD": "ref: refs/heads/main", "module/.git": "gitdir: /somewhere",
		"node_modules/x/index.js": "x", "sub/a.o": "o", "sub/keep.o": "o", "build/out": "x", "sub/build/out": "x", "a/b": "1", "a-b": "2", "name with \"quotes\"\n": "n",
	})
	err := errors.Join(os.Chmod(filepath.Join(a.Path(), "main.go"), 0o750), os.Symlink("main.go", filepath.Join(a.Path(), "link")), os.Symlink("/etc/passwd", filepath.Join(a.Path(), "out")),
		os.Symlink("sub", filepath.Join(a.Path(), "linked")), os.Symlink("odd-\xff", filepath.Join(a.Path(), "to-odd")), os.MkdirAll(filepath.Join(a.Path(), "hollow"), 0o700), os.WriteFile(filepath.Join(a.Path(), "odd-\xff"), []byte("odd"), 0o600), os.Chmod(filepath.Join(a.Path(), "sub", "deep"), 0o555))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(a.Path()) })
	pipe(t, filepath.Join(a.Path(), "pipe"))
	save(t, a)
	want := readTree(t, a.Path())
	for _, name := range []string{"pipe", "module/.git", "node_modules/", "node_modules/x/", "node_modules/x/index.js", "sub/a.o", "build/", "build/out"} {
		delete(want, name)
	}
	b := open(t, s.worker(t, t.TempDir()), "acme/ada")
	t.Cleanup(func() { removeAll(b.Path()) })
	wantTree(t, "the other worker", b.Path(), want)
	for _, name := range []string{"main.go", "large"} {
		before, err1 := os.Stat(filepath.Join(a.Path(), name))
		after, err2 := os.Stat(filepath.Join(b.Path(), name))
		if err1 != nil || err2 != nil || !before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%s was modified at %v, and restored as of %v", name, before.ModTime(), after.ModTime())
		}
	}
	// Its changes come back, what it has removed is gone, and another conversation has nothing.
	write(t, b.Path(), map[string]string{"main.go": "package other"})
	if err := os.Remove(filepath.Join(b.Path(), "empty")); err != nil {
		t.Fatal(err)
	}
	save(t, b)
	want = readTree(t, b.Path())
	again := open(t, s.worker(t, filepath.Dir(a.Path())), "acme/ada")
	wantTree(t, "the first worker, again", again.Path(), want)
	if len(readTree(t, open(t, s.worker(t, t.TempDir()), "acme/eve").Path())) != 0 {
		t.Error("another conversation has files")
	}
}

// countedBlobs counts what is put.
type countedBlobs struct {
	Blobs
	mu  sync.Mutex
	put int
}

func (b *countedBlobs) Put(ctx context.Context, name string, data []byte) error {
	b.mu.Lock()
	b.put++
	b.mu.Unlock()
	return b.Blobs.Put(ctx, name, data)
}

// An unchanged folder costs nothing, and a change costs its file and the list.
func TestSnapshotsAreIncremental(t *testing.T) {
	s := newShared(t)
	blobs := &countedBlobs{Blobs: s.blobs}
	s.blobs = blobs
	root := t.TempDir()
	d := open(t, s.worker(t, root), "k")
	write(t, d.Path(), map[string]string{"a": "1", "b": "2", "c/d": "3"})
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"a", "b", "c/d"} {
		if err := os.Chtimes(filepath.Join(d.Path(), name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	puts := func(want int) {
		t.Helper()
		blobs.put = 0
		save(t, d)
		if blobs.put != want {
			t.Errorf("%d chunks were put, want %d", blobs.put, want)
		}
	}
	puts(4) // three files and the list
	before, _ := store.Get(t.Context(), s.records, s.worker(t, root).headKey("k"))
	puts(0)
	if after, _ := store.Get(t.Context(), s.records, s.worker(t, root).headKey("k")); after.Revision != before.Revision {
		t.Error("an unchanged folder was written to the store")
	}
	write(t, d.Path(), map[string]string{"a": "9"})
	puts(2)
	d = open(t, s.worker(t, root), "k") // the next process on this machine
	puts(0)
}

// A file that changes within a tick of its times is read again: size and time may be the
// same.
func TestChangeWithinATick(t *testing.T) {
	s := newShared(t)
	d := open(t, s.worker(t, t.TempDir()), "k")
	write(t, d.Path(), map[string]string{"a": "1"})
	save(t, d)
	info, err := os.Stat(filepath.Join(d.Path(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, d.Path(), map[string]string{"a": "2"})
	if err := os.Chtimes(filepath.Join(d.Path(), "a"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	save(t, d)
	if got := readTree(t, open(t, s.worker(t, t.TempDir()), "k").Path())["a"]; !strings.HasSuffix(got, " 2") {
		t.Errorf("the snapshot has %q", got)
	}
}

// Times that a file system keeps only to the second cannot show such a change: what was
// looked at within a tick of it is not trusted.
func TestIndexTrustsOldFiles(t *testing.T) {
	const looked = int64(time.Hour)
	second := int64(time.Second)
	for name, tt := range map[string]struct {
		had, now stamp
		want     bool
	}{
		"old":                    {stamp{3, looked - 10*second, looked - 10*second, 7}, stamp{3, looked - 10*second, looked - 10*second, 7}, true},
		"within a tick":          {stamp{3, looked - second, 0, 7}, stamp{3, looked - second, 0, 7}, false},
		"from the future":        {stamp{3, looked + second, 0, 7}, stamp{3, looked + second, 0, 7}, false},
		"its time was set back":  {stamp{3, looked - 10*second, looked - second, 7}, stamp{3, looked - 10*second, looked - second, 7}, false},
		"another size":           {stamp{3, 0, 0, 7}, stamp{4, 0, 0, 7}, false},
		"another time":           {stamp{3, 0, 0, 7}, stamp{3, 1, 0, 7}, false},
		"another file":           {stamp{3, 0, 0, 7}, stamp{3, 0, 0, 8}, false},
		"changed by other means": {stamp{3, 0, 0, 7}, stamp{3, 0, 1, 7}, false},
	} {
		x := index{Written: looked, Files: map[string]indexedFile{"f": {Stamp: tt.had, Chunks: []string{"c"}}}}
		if _, got := x.unchanged("f", tt.now); got != tt.want {
			t.Errorf("%s: trusted %v", name, got)
		}
	}
}

// noBlobs fails at the first chunk: nothing may be read.
type noBlobs struct{ Blobs }

func (noBlobs) Put(context.Context, string, []byte) error { return errors.New("a chunk was put") }

// Bounds hold before anything is read: two gigabytes without a block on disk are refused
// at once.
func TestBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*SnapshotOptions)
		files  int
		size   int64
		what   string
	}{
		"two gigabytes":  {func(*SnapshotOptions) {}, 1, 2 << 30, "bytes"},
		"a lower bound":  {func(o *SnapshotOptions) { o.MaxBytes = 10 }, 3, 4, "bytes"},
		"too many files": {func(o *SnapshotOptions) { o.MaxFiles = 2 }, 3, 0, "files"},
		"all fit":        {func(o *SnapshotOptions) { o.MaxFiles, o.MaxBytes = 3, 12 }, 3, 4, ""},
		"ignored":        {func(o *SnapshotOptions) { o.Ignore, o.MaxBytes = []string{"f*"}, 1 }, 3, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t)
			if tt.what != "" {
				s.blobs = noBlobs{s.blobs}
			}
			d := open(t, s.worker(t, t.TempDir(), tt.change), "k")
			for i := range tt.files {
				write(t, d.Path(), map[string]string{fmt.Sprint("f", i): ""})
				if err := os.Truncate(filepath.Join(d.Path(), fmt.Sprint("f", i)), tt.size); err != nil {
					t.Fatal(err)
				}
			}
			err := d.Save(t.Context(), store.Fence{})
			bound, ok := errors.AsType[*BoundError](err)
			if tt.what == "" && err != nil || tt.what != "" && (!ok || bound.What != tt.what) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// A worker that has lost the lease saves nothing, whether the new holder has saved or not.
func TestSnapshotsAreFenced(t *testing.T) {
	for _, saved := range []bool{false, true} {
		s := newShared(t)
		ctx := t.Context()
		const session = "00000000-0000-4000-8000-000000000001"
		first, err := s.records.Acquire(ctx, "p", session, "first", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		a := open(t, s.worker(t, t.TempDir()), "k")
		write(t, a.Path(), map[string]string{"f": "one"})
		if err := a.Save(ctx, first.Fence); err != nil {
			t.Fatal(err)
		}
		if err := s.records.Release(ctx, first); err != nil {
			t.Fatal(err)
		}
		second, err := s.records.Acquire(ctx, "p", session, "second", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		b := open(t, s.worker(t, t.TempDir()), "k")
		want := "one"
		if saved {
			want = "two"
			write(t, b.Path(), map[string]string{"f": "two"})
			if err := b.Save(ctx, second.Fence); err != nil {
				t.Fatal(err)
			}
		}
		write(t, a.Path(), map[string]string{"f": "late"})
		if err := a.Save(ctx, first.Fence); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("saved %v: a save without the lease: %v", saved, err)
		}
		if got := readTree(t, open(t, s.worker(t, t.TempDir()), "k").Path())["f"]; !strings.HasSuffix(got, want) {
			t.Errorf("saved %v: the snapshot has %q", saved, got)
		}
	}
}

// A process that was killed before it saved finds its work, unless another has saved since.
func TestUnsavedWork(t *testing.T) {
	s := newShared(t)
	root := t.TempDir()
	a := open(t, s.worker(t, root), "k")
	write(t, a.Path(), map[string]string{"f": "saved"})
	save(t, a)
	write(t, a.Path(), map[string]string{"f": "unsaved"})
	if got := readTree(t, open(t, s.worker(t, root), "k").Path())["f"]; !strings.HasSuffix(got, "unsaved") {
		t.Errorf("the same machine has %q", got)
	}
	b := open(t, s.worker(t, t.TempDir()), "k")
	write(t, b.Path(), map[string]string{"f": "newer"})
	save(t, b)
	for range 2 {
		if got := readTree(t, open(t, s.worker(t, root), "k").Path())["f"]; !strings.HasSuffix(got, "newer") {
			t.Errorf("the first machine has %q", got)
		}
		// What only this machine had is beside it, until the conversation is removed.
		left, _ := filepath.Glob(filepath.Join(root, ".*"+kept+"*", "f"))
		if len(left) != 1 {
			t.Fatalf("unsaved work is in %q", left)
		}
		if text, err := os.ReadFile(left[0]); string(text) != "unsaved" {
			t.Errorf("unsaved work is %q, %v", text, err)
		}
	}
	if err := s.worker(t, root).Remove(t.Context(), "k", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Errorf("after Remove, %v is left", left)
	}
}

// What cannot be trusted is not restored, and the folder stays as it was.
func TestDamagedSnapshots(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, s *shared, w *Snapshots){
		"a chunk is another": func(t *testing.T, s *shared, w *Snapshots) {
			path, _ := s.blobs.(*fileBlobs).path(digest([]byte("one")))
			if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a chunk is missing": func(t *testing.T, s *shared, w *Snapshots) {
			if err := s.blobs.Delete(t.Context(), digest([]byte("one")), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		},
		"of a newer version": func(t *testing.T, s *shared, w *Snapshots) { putHead(t, s, w, `{"format":3,"key":"k"}`) },
		"of another key":     func(t *testing.T, s *shared, w *Snapshots) { putHead(t, s, w, `{"format":1,"key":"j"}`) },
		"not JSON":           func(t *testing.T, s *shared, w *Snapshots) { putHead(t, s, w, `{`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t)
			a := open(t, s.worker(t, t.TempDir()), "k")
			write(t, a.Path(), map[string]string{"f": "one", "g": "whole"})
			save(t, a)
			root := t.TempDir()
			w := s.worker(t, root)
			damage(t, s, w)
			if _, err := w.Open(t.Context(), "k"); err == nil {
				t.Error("it was opened")
			}
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func putHead(t *testing.T, s *shared, w *Snapshots, text string) {
	t.Helper()
	r, err := store.Get(t.Context(), s.records, w.headKey("k"))
	if err == nil {
		_, err = store.Put(t.Context(), s.records, r.Key, []byte(text), r.Revision, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Members that a newer program has added to the record of a snapshot are there after the next
// save, on the same machine and on another one.
func TestUnknownMembersOfHeadsSurvive(t *testing.T) {
	s := newShared(t)
	root := t.TempDir()
	first := s.worker(t, root)
	d := open(t, first, "k")
	write(t, d.Path(), map[string]string{"a": "1"})
	save(t, d)
	r, err := store.Get(t.Context(), s.records, first.headKey("k"))
	if err != nil {
		t.Fatal(err)
	}
	const more = `"future":{"a":[1]}`
	putHead(t, s, first, "{"+more+","+strings.TrimPrefix(string(r.Value), "{"))
	for i, at := range []string{root, root, t.TempDir()} {
		d := open(t, s.worker(t, at), "k")
		for range 2 {
			write(t, d.Path(), map[string]string{"a": rand.Text()})
			save(t, d)
		}
		if r, err := store.Get(t.Context(), s.records, first.headKey("k")); err != nil || !strings.Contains(string(r.Value), more) {
			t.Errorf("the record after save %d: %s, %v", i, r.Value, err)
		}
	}
}

// A list of files that leads out of its folder is refused.
func TestHostileManifests(t *testing.T) {
	for _, text := range []string{
		`{"path":"../x","mode":420}`, `{"path":"/etc/x","mode":420}`, `{"path":"a/../../x","mode":420}`, `{"path":"","mode":420}`, `{"path":".","mode":420}`,
		`{"path":"a/b","mode":420}`, `{"raw":"Li4=","mode":2147484096}`, `{"path":"a","mode":33554852}`, "{\"path\":\"b\",\"mode\":420}\n{\"path\":\"a\",\"mode\":420}",
		"{\"path\":\"l\",\"mode\":134217728,\"target\":\"/etc\"}\n{\"path\":\"l/passwd\",\"mode\":420}", "{\"path\":\"a\",\"mode\":420}\n{\"path\":\"a\",\"mode\":420}", `[`,
	} {
		if entries, err := decodeManifest([]byte(text)); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v, %v", text, entries, err)
		}
	}
}

// A file that changes once while it is read is read again.
func TestFileThatChangesOnce(t *testing.T) {
	s := newShared(t)
	d := open(t, s.worker(t, t.TempDir()), "k").(*snapshotDir)
	write(t, d.Path(), map[string]string{"f": "a"})
	once := sync.OnceFunc(func() { write(t, d.Path(), map[string]string{"f": "longer"}) })
	d.s.step = func(what string) error {
		if what == "put a chunk" {
			once()
		}
		return nil
	}
	save(t, d)
	wantTree(t, "another machine", open(t, s.worker(t, t.TempDir()), "k").Path(), readTree(t, d.Path()))
}

// A file that may not be read is left out, and the rest is saved. A restore does not
// remove it.
func TestUnreadableFile(t *testing.T) {
	need.FileModes.Test(t)
	s := newShared(t)
	root := t.TempDir()
	forbid := func(o *SnapshotOptions) {
		o.step = func(what string) error {
			if what == "read secret" {
				return &fs.PathError{Op: "open", Path: "secret", Err: fs.ErrPermission}
			}
			return nil
		}
	}
	d := open(t, s.worker(t, root, forbid), "k")
	write(t, d.Path(), map[string]string{"f": "x", "secret": "y"})
	save(t, d)
	other := open(t, s.worker(t, t.TempDir()), "k")
	wantTree(t, "another machine", other.Path(), tree{"f": "-rw-r--r-- x"})
	write(t, other.Path(), map[string]string{"f": "z"})
	save(t, other)
	open(t, s.worker(t, root, forbid), "k")
	if left, _ := filepath.Glob(filepath.Join(root, ".*"+kept+"*", "secret")); len(left) != 1 {
		t.Errorf("the file that could not be saved is in %q", left)
	}
}

// The files of a conversation that was removed from another machine do not come back
// under its key, whether the new one has saved or not.
func TestRemovedElsewhere(t *testing.T) {
	for _, saved := range []bool{false, true} {
		s := newShared(t)
		root, elsewhere := t.TempDir(), t.TempDir()
		d := open(t, s.worker(t, root), "k")
		write(t, d.Path(), map[string]string{"f": "private"})
		save(t, d)
		if err := s.worker(t, elsewhere).Remove(t.Context(), "k", store.Fence{}); err != nil {
			t.Fatal(err)
		}
		want := tree{}
		if saved {
			d := open(t, s.worker(t, elsewhere), "k")
			write(t, d.Path(), map[string]string{"g": "new"})
			save(t, d)
			want = readTree(t, d.Path())
		}
		wantTree(t, fmt.Sprintf("saved %v: the machine that had it", saved), open(t, s.worker(t, root), "k").Path(), want)
		if left, _ := filepath.Glob(filepath.Join(root, ".*"+kept+"*")); len(left) > 0 {
			t.Errorf("saved %v: %q is left", saved, left)
		}
	}
}

// A file that changes while it is read is not saved half.
func TestChangingFile(t *testing.T) {
	s := newShared(t)
	d := open(t, s.worker(t, t.TempDir()), "k").(*snapshotDir)
	size := 2 * MaxBlob
	write(t, d.Path(), map[string]string{"f": strings.Repeat("a", size)})
	d.s.step = func(what string) error {
		if what == "put a chunk" {
			size++
			write(t, d.Path(), map[string]string{"f": strings.Repeat("b", size)})
		}
		return nil
	}
	if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, ErrChanging) {
		t.Errorf("error = %v", err)
	}
	if _, revision, err := d.s.current(t.Context(), "k"); revision != 0 || err != nil {
		t.Errorf("a snapshot was made: %d, %v", revision, err)
	}
}

func TestSnapshotOptions(t *testing.T) {
	s := newShared(t)
	for name, change := range map[string]func(*SnapshotOptions){
		"Root": func(o *SnapshotOptions) { o.Root = "" }, "Records": func(o *SnapshotOptions) { o.Records = nil }, "Blobs": func(o *SnapshotOptions) { o.Blobs = nil },
		"Project": func(o *SnapshotOptions) { o.Project = "../p" }, "MaxFiles": func(o *SnapshotOptions) { o.MaxFiles = -1 }, "pattern": func(o *SnapshotOptions) { o.Ignore = []string{"[a"} },
	} {
		o := SnapshotOptions{Root: t.TempDir(), Records: s.records, Project: "p", Blobs: s.blobs}
		change(&o)
		if _, err := NewSnapshots(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

func TestRemove(t *testing.T) {
	s := newShared(t)
	root := t.TempDir()
	for name, p := range map[string]Provider{"snapshots": s.worker(t, root), "folders": Folders(t.TempDir())} {
		if err := p.Remove(t.Context(), "k", store.Fence{}); err != nil {
			t.Errorf("%s: nothing there: %v", name, err)
		}
		d := open(t, p, "k")
		write(t, d.Path(), map[string]string{"f": "x"})
		save(t, d)
		if err := p.Remove(t.Context(), "k", store.Fence{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := readTree(t, open(t, p, "k").Path()); len(got) > 0 {
			t.Errorf("%s: %v is left", name, got)
		}
	}
}

func TestKeys(t *testing.T) {
	s := newShared(t)
	for _, p := range []Provider{Folders(t.TempDir()), s.worker(t, t.TempDir())} {
		for _, key := range []string{"", "..", "a/../b", "/a", "a/", "a//b", "./a", "a\x00b", "a\nb", `a\b`, strings.Repeat("x", 1001), "a\xffb"} {
			if _, err := p.Open(t.Context(), key); !errors.Is(err, ErrKey) {
				t.Errorf("%T opens %q: %v", p, key, err)
			}
			if err := p.Remove(t.Context(), key, store.Fence{}); !errors.Is(err, ErrKey) {
				t.Errorf("%T removes %q: %v", p, key, err)
			}
		}
	}
	names := make(map[string]string)
	for _, key := range []string{"a/b", "a-b", "A/B", "a", "ä", "ö", strings.Repeat("x", 300), strings.Repeat("x", 301), "-rf", ".hidden", "con"} {
		name := nameOf(key)
		if other, twice := names[name]; twice || len(name) > 60 || !filepath.IsLocal(name) || strings.HasPrefix(name, ".") || strings.ToLower(name) != name {
			t.Errorf("the name of %q is %q, like that of %q", key, name, other)
		}
		names[name] = key
	}
}

func TestIgnore(t *testing.T) {
	list, err := parseIgnore([]string{"*.log", "!keep.log", "target/", "/only-top", "docs/*.tmp", "a/**/z", "**/cache/x"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"x.log": true, "d/x.log": true, "keep.log": false, "d/keep.log": false, "target/": true, "d/target/": true, "target": false,
		"only-top": true, "d/only-top": false, "docs/x.tmp": true, "docs/d/x.tmp": false, "d/docs/x.tmp": false,
		"a/z": true, "a/b/c/z": true, "b/z": false, "cache/x": true, "d/e/cache/x": true, "cache/y": false,
	} {
		name, folder := strings.CutSuffix(name, "/")
		if got := list.ignores(name, folder); got != want {
			t.Errorf("%q is ignored: %v", name, got)
		}
	}
}

func TestCollect(t *testing.T) {
	s := newShared(t)
	w := s.worker(t, t.TempDir())
	d := open(t, w, "k")
	write(t, d.Path(), map[string]string{"f": "one", "g": "stays"})
	save(t, d)
	write(t, d.Path(), map[string]string{"f": "two"})
	save(t, d)
	if _, err := w.Collect(t.Context(), time.Minute); err == nil {
		t.Error("chunks of a minute may be needed by a save")
	}
	if n, err := w.Collect(t.Context(), 2*time.Hour); n != 0 || err != nil {
		t.Errorf("%d new chunks were removed, %v", n, err)
	}
	age(t, s)
	if n, err := w.Collect(t.Context(), 2*time.Hour); n != 2 || err != nil { // "one" and the first list
		t.Errorf("%d chunks were removed, want 2, %v", n, err)
	}
	if got := readTree(t, open(t, s.worker(t, t.TempDir()), "k").Path()); !strings.HasSuffix(got["f"], "two") || !strings.HasSuffix(got["g"], "stays") {
		t.Errorf("the snapshot has %q", got)
	}
	if err := w.Remove(t.Context(), "k", store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Collect(t.Context(), 2*time.Hour); n != 3 || err != nil {
		t.Errorf("%d chunks were removed after Remove, want 3, %v", n, err)
	}
}

// age makes all chunks three hours old.
func age(t testing.TB, s *shared) {
	t.Helper()
	old := time.Now().Add(-3 * time.Hour)
	for name, err := range s.blobs.List(context.Background(), time.Now().Add(time.Hour)) {
		path, bad := s.blobs.(*fileBlobs).path(name)
		if err := errors.Join(err, bad, os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
}

// A save may need a chunk that is old and that no snapshot names at the moment in which
// Collect looks: at every step of Collect, another conversation saves it.
func TestCollectBesideSaves(t *testing.T) {
	for _, when := range []string{"before", "after the list", "before the deletion"} {
		t.Run(when, func(t *testing.T) {
			s := newShared(t)
			a := open(t, s.worker(t, t.TempDir()), "a")
			write(t, a.Path(), map[string]string{"f": "precious"})
			save(t, a)
			if err := s.worker(t, t.TempDir()).Remove(t.Context(), "a", store.Fence{}); err != nil {
				t.Fatal(err)
			}
			age(t, s)
			b := open(t, s.worker(t, t.TempDir()), "b")
			write(t, b.Path(), map[string]string{"copy": "precious"})
			saveOnce := sync.OnceFunc(func() { save(t, b) })
			w := s.worker(t, t.TempDir(), func(o *SnapshotOptions) {
				o.Records = scanHook{s.records, func() {
					if when == "after the list" {
						saveOnce()
					}
				}}
				o.step = func(string) error {
					if when == "before the deletion" {
						saveOnce()
					}
					return nil
				}
			})
			if when == "before" {
				saveOnce()
			}
			if _, err := w.Collect(t.Context(), 2*time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := readTree(t, open(t, s.worker(t, t.TempDir()), "b").Path())["copy"]; !strings.HasSuffix(got, "precious") {
				t.Errorf("the copy is %q", got)
			}
		})
	}
}

// scanHook runs something before each scan.
type scanHook struct {
	*store.MemoryStore
	before func()
}

func (s scanHook) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	s.before()
	return s.MemoryStore.Scan(ctx, f, after)
}

// pipe makes a pipe where there are any.
func pipe(t *testing.T, path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	if err := mkfifo(path); err != nil {
		t.Fatal(err)
	}
}
