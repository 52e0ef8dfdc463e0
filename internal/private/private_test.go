package private

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/need"
)

func TestMkdir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	if err := Mkdir(dir); err != nil {
		t.Fatal(err)
	}
	alone(t, dir)
	if err := Mkdir(dir); !os.IsExist(err) {
		t.Errorf("again: %v", err)
	}
	if err := Mkdir(filepath.Join(dir, "none", "b")); !os.IsNotExist(err) {
		t.Errorf("below nothing: %v", err)
	}
}

func TestMkdirTemp(t *testing.T) {
	top := t.TempDir()
	one, err := MkdirTemp(top, "x-")
	if err != nil {
		t.Fatal(err)
	}
	alone(t, one)
	two, err := MkdirTemp(top, "x-")
	if err != nil || one == two || filepath.Dir(two) != top || !strings.HasPrefix(filepath.Base(two), "x-") {
		t.Errorf("%q and %q, %v", one, two, err)
	}
	if name := filepath.Base(two); !IsTemp(name, "x-") || IsTemp(name, "y-") || IsTemp(name+"A", "x-") || IsTemp("x-notes-of-mine", "x-") || IsTemp("x-123456789012", "x-") {
		t.Errorf("%s cannot be distinguished from other names", name)
	}
	if path, err := MkdirTemp(filepath.Join(top, "none"), "x-"); !os.IsNotExist(err) || path != "" {
		t.Errorf("in no folder: %q, %v", path, err)
	}
}

func TestMkdirAll(t *testing.T) {
	top := t.TempDir()
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "a", "b", "c")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := MkdirAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for ; dir != top; dir = filepath.Dir(dir) {
		alone(t, dir)
	}
	if info, err := os.Stat(top); err != nil || need.FileModes.Here() && info.Mode().Perm() != 0o755 {
		t.Errorf("the folder that was there has mode %v, %v", info.Mode(), err)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := MkdirAll(path); err == nil {
			t.Errorf("%s is a folder", path)
		}
	}
}

// What is made in such a folder is as private, whatever mode it is made with.
func TestBelow(t *testing.T) {
	dir, err := MkdirTemp(t.TempDir(), "x-")
	if err != nil {
		t.Fatal(err)
	}
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	alone(t, dir)
	for _, path := range []string{file, folder} { // the folder above keeps others out, or their own lists do
		if complaint := stranger(path); complaint != "" {
			t.Errorf("%s: %s", path, complaint)
		}
	}
}

// alone wants a folder that only its owner can look into.
func alone(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil || need.FileModes.Here() && info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%s has mode %v, %v", dir, info.Mode(), err)
	}
	if complaint := stranger(dir); complaint != "" {
		t.Errorf("%s: %s", dir, complaint)
	}
}
