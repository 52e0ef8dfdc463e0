package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/store/internal/rule"
)

// oldRecord writes a record as the layout before had it, with the lock beside it.
func oldRecord(t *testing.T, dir string, k RecordKey, value string, revision int64) {
	t.Helper()
	kind := filepath.Join(dir, fileName(k.Project), oldRecords, fileName(k.Kind))
	name := filepath.Join(kind, filepath.FromSlash(filePath(k.Name))+valueEnd)
	text, err := json.Marshal(recordFile{revision, []byte(value)})
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600), os.WriteFile(filepath.Join(kind, "3"+lockEnd), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// oldDir makes a directory of the layout before, and returns what its records are.
func oldDir(t *testing.T) (dir, want string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, layoutFile), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"A", "a", "a/b.c", "a/b/c"} {
		oldRecord(t, dir, thing(name), "value of "+name, int64(100+i))
		want += fmt.Sprintf("%s=value of %s@%d\n", name, name, 100+i)
	}
	oldRecord(t, dir, RecordKey{"p", "Other@kind", "x"}, "other", 7)
	return dir, want
}

// leftOld returns the files that are left of the layout before.
func leftOld(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "p", oldRecords), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// The records of the layout before are found in the log, whether the first to come reads
// or writes. An older program finds a version that it does not know.
func TestFilesConvert(t *testing.T) {
	for name, first := range map[string]func(s *FileStore) error{
		"read": func(s *FileStore) error { _, err := Get(t.Context(), s, thing("a")); return err },
		"scan": func(s *FileStore) error {
			for _, err := range s.Scan(t.Context(), Folder{Project: "p", Kind: "thing"}, "") {
				return err
			}
			return ErrNotFound
		},
		"write": func(s *FileStore) error {
			_, err := Put(t.Context(), s, RecordKey{"p", "third", "x"}, nil, 0, Fence{})
			return err
		},
		"watch": func(s *FileStore) error {
			for _, err := range s.Watch(t.Context(), "p") {
				return err
			}
			return ErrNotFound
		},
	} {
		dir, want := oldDir(t)
		if err := first(quickFiles(dir)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := quickFiles(dir)
		if got, err := things(t, s); err != nil || got != want {
			t.Errorf("%s: %v\n%swant\n%s", name, err, got, want)
		}
		if r, err := Get(t.Context(), s, RecordKey{"p", "Other@kind", "x"}); err != nil || string(r.Value) != "other" || r.Revision != 7 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if left := leftOld(t, dir); len(left) > 0 || exists2(filepath.Join(dir, "p", oldRecords)) {
			t.Errorf("%s: %q are left", name, left)
		}
		if text, err := os.ReadFile(filepath.Join(dir, layoutFile)); err != nil || rule.Layout(string(text), 1, ErrDamaged, ErrNewer) == nil {
			t.Errorf("%s: the layout is %q, %v", name, text, err)
		}
		if next, err := Put(t.Context(), s, thing("a"), nil, 101, Fence{}); err != nil || next <= 103 {
			t.Errorf("%s: revision %d, %v", name, next, err)
		}
	}
}

func exists2(path string) bool { _, err := os.Lstat(path); return err == nil }

// A conversion that is cut off anywhere loses nothing, and the next process finishes it.
// The directory is kept as it is at each sync, and with some of the old files removed once
// there is a log.
func TestFilesConvertKilled(t *testing.T) {
	dir, want := oldDir(t)
	kept := t.TempDir()
	var states []string
	keep := func() string {
		to := filepath.Join(kept, fmt.Sprint(len(states)))
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		states = append(states, to)
		return to
	}
	s := Files(dir)
	s.made = true
	s.fsync = func(*os.File) error {
		to := keep()
		for n := 1; exists2(logOf(to)) && n <= len(leftOld(t, to)); n++ {
			removed := 0
			err := filepath.WalkDir(filepath.Join(keep(), "p", oldRecords), func(path string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() && removed < n {
					removed++
					return os.Remove(path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	if _, err := Put(t.Context(), s, RecordKey{"p", "third", "x"}, nil, 0, Fence{}); err != nil {
		t.Fatal(err)
	}
	if len(states) < 10 {
		t.Fatalf("only %d states: the test shows nothing", len(states))
	}
	for i, dir := range states {
		next := quickFiles(dir)
		if got, err := things(t, next); err != nil || got != want {
			t.Fatalf("killed at %d: %v\n%swant\n%s", i, err, got, want)
		}
		if _, err := Put(t.Context(), next, RecordKey{"p", "fourth", "x"}, nil, 0, Fence{}); err != nil {
			t.Fatal(err)
		}
		if left := leftOld(t, dir); len(left) > 0 || exists2(filepath.Join(dir, "p", logNewFile)) {
			t.Errorf("killed at %d: %q are left, or a log in the making", i, left)
		}
		if got, err := things(t, quickFiles(dir)); err != nil || got != want {
			t.Fatalf("killed at %d, and then written to: %v\n%s", i, err, got)
		}
	}
}

// What is not a record stays where it is, and a record that cannot be read stops the
// conversion before it has changed anything but locks.
func TestFilesConvertWithCare(t *testing.T) {
	dir, want := oldDir(t)
	notes := filepath.Join(dir, "p", oldRecords, "notes.txt")
	if err := os.WriteFile(notes, []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "p", oldRecords, "thing", "bad"+valueEnd)
	if err := os.WriteFile(bad, []byte(`{"revision":`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := quickFiles(dir)
	if got, err := things(t, s); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "p/thing/bad") {
		t.Errorf("%q, %v", got, err)
	}
	left := slices.DeleteFunc(leftOld(t, dir), func(name string) bool { return strings.HasSuffix(name, lockEnd) })
	if len(left) != 7 || exists2(logOf(dir)) {
		t.Errorf("%q are left, or there is a log", left)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := things(t, s); err != nil || got != want {
			t.Errorf("%v\n%swant\n%s", err, got, want)
		}
		if left := leftOld(t, dir); len(left) != 1 || left[0] != "notes.txt" {
			t.Errorf("%q are left", left)
		}
		s = quickFiles(dir)
	}
}
