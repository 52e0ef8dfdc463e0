package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A chunk that is removed as an old one after Put has found it, and before Put has made it
// new, is written again.
func TestRemovedWhileTouched(t *testing.T) {
	dir, name := t.TempDir(), strings.Repeat("ab", 32)
	b := FileBlobs(dir).(*fileBlobs)
	if err := b.Put(t.Context(), name, []byte("text")); err != nil {
		t.Fatal(err)
	}
	path, err := b.path(name)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	found := filepath.Join(t.TempDir(), "found") // what the system has found under the name
	b.touch = func(path string) error {
		if err := os.Link(path, found); err != nil {
			return err
		}
		if err := b.Delete(t.Context(), name, long.Add(time.Hour)); err != nil {
			return err
		}
		return touch(found)
	}
	if err := b.Put(t.Context(), name, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(found); err != nil {
		t.Fatalf("the chunk was not removed in between: %v", err)
	}
	if data, err := b.Get(t.Context(), name); err != nil || string(data) != "text" {
		t.Errorf("Get = %q, %v", data, err)
	}
}
