package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// These tests use nothing of this module: they ask the system for what the module's files
// rely on. Linux and NTFS keep it. Wine 8.0 does not: for the first one the standard library
// is changed, the others are in the table, and more tests fail there for their reasons.

// inRoot returns an open folder with a file in it, and the file, open as a reader has it.
func inRoot(t *testing.T) (*os.Root, *os.File) {
	t.Helper()
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.WriteFile("file", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := r.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return r, f
}

// A removed file does not come back while a reader still has it open: its name is free, or
// closed until the reader is done, as on FAT. A writer never finds the old content there, and
// what it writes does not go when the reader closes the file.
func TestRemovedFileStaysRemoved(t *testing.T) {
	r, reader := inRoot(t)
	if err := r.Remove("file"); err != nil {
		t.Fatal(err)
	}
	f, err := r.OpenFile("file", os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 0 {
		t.Errorf("after the removal the file opens with %d bytes, %v", info.Size(), err)
	}
	if err := errors.Join(f.Close(), reader.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stat("file"); err != nil {
		t.Errorf("the new file went with the old one: %v", err)
	}
}

// A file is replaced while a reader has it open, who keeps the old one.
func TestOpenFileIsReplaced(t *testing.T) {
	r, reader := inRoot(t)
	if err := r.WriteFile("other", []byte("new text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Rename("other", "file"); err != nil {
		t.Fatal(err)
	}
	if info, err := reader.Stat(); err != nil || info.Size() != 3 {
		t.Errorf("the reader has %d bytes, %v", info.Size(), err)
	}
	if text, err := r.ReadFile("file"); err != nil || string(text) != "new text" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file has attributes however long its path is, if it is named from its folder. Windows
// takes paths of 32,767 characters.
func TestLongPaths(t *testing.T) {
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { r.Close() }()
	name := strings.Repeat("x", 100)
	for length := 0; length < 6000; length += len(name) + 1 {
		if err := r.Mkdir(name, 0o700); err != nil {
			t.Fatalf("below %d characters: %v", length, err)
		}
		if _, err := r.Lstat(name); err != nil {
			t.Fatalf("below %d characters: %v", length, err)
		}
		below, err := r.OpenRoot(name)
		if err != nil {
			t.Fatalf("below %d characters: %v", length, err)
		}
		r.Close()
		r = below
	}
}
