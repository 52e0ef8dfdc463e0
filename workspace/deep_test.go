package workspace

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// dig makes folders of one name in one another, with a file in the last, and returns the
// path of the file. It may be longer than the system takes.
func dig(t *testing.T, dir, name string, levels int) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	for range levels {
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		below, err := root.OpenRoot(name)
		if err := errors.Join(err, root.Close()); err != nil {
			t.Fatal(err)
		}
		root, at = below, path.Join(at, name)
	}
	defer root.Close()
	if err := root.WriteFile("file", []byte("deep"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path.Join(at, "file")
}

// Folders in one another travel up to a bound, even where their path is longer than the
// system takes. Beyond it, the save names the bound.
func TestDeepFolders(t *testing.T) {
	s := newShared(t)
	d := open(t, s.worker(t, t.TempDir()), "k")
	file := dig(t, d.Path(), strings.Repeat("x", 100), 60)
	dig(t, d.Path(), "y", maxDepth)
	save(t, d)
	w := s.worker(t, t.TempDir())
	there := open(t, w, "k")
	root, err := os.OpenRoot(there.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{file, strings.Repeat("y/", maxDepth) + "file"} {
		if text, err := root.ReadFile(name); err != nil || string(text) != "deep" {
			t.Errorf("a file at %d bytes of path: %q, %v", len(name), text, err)
		}
	}
	save(t, there)
	if err := w.Remove(t.Context(), "k", store.Fence{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(there.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	dig(t, d.Path(), "z", maxDepth+1)
	err = d.Save(t.Context(), store.Fence{})
	if bound, ok := errors.AsType[*BoundError](err); !ok || bound.What != "levels of folders" || len(err.Error()) > 500 || strings.Contains(err.Error(), "raise") {
		t.Errorf("%d levels: %v", maxDepth+1, err)
	}
}

// fullBlobs take some chunks, and then the disk is full.
type fullBlobs struct {
	Blobs
	left *atomic.Int64
}

func (b fullBlobs) Put(ctx context.Context, name string, data []byte) error {
	if b.left.Add(-1) < 0 {
		return &os.PathError{Op: "write", Path: filepath.Join("blobs", name), Err: syscall.ENOSPC}
	}
	return b.Blobs.Put(ctx, name, data)
}

// A full disk has a name, and nothing is lost: the last snapshot is as it was, the folder too,
// and the next save has it when there is room.
func TestFullDisk(t *testing.T) {
	first, second := states()
	for room := range 3 {
		s := newShared(t)
		d := open(t, s.worker(t, t.TempDir()), "k")
		write(t, d.Path(), first)
		save(t, d)
		old := readTree(t, d.Path())
		kept := s.blobs
		write(t, d.Path(), second)
		want, left := readTree(t, d.Path()), new(atomic.Int64)
		left.Store(int64(room))
		d.(*snapshotDir).s.Blobs = fullBlobs{kept, left}
		if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("room for %d chunks: %v", room, err)
		}
		wantTree(t, "the folder", d.Path(), want)
		wantTree(t, "another machine", open(t, s.worker(t, t.TempDir()), "k").Path(), old)
		d.(*snapshotDir).s.Blobs = kept
		save(t, d)
		wantTree(t, "another machine, when there is room", open(t, s.worker(t, t.TempDir()), "k").Path(), want)
	}
}
