package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What has changed since a time is synced, with the folders that have its name, and nothing
// else. Where the system does not tell, everything is.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old/object", "old/other", "new/object", "new/old", "yarn.lock"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	recent := []string{"object", "new", "yarn.lock"}
	for what, tt := range map[string]struct {
		since time.Time
		known bool
		want  []string
	}{
		"since the last time": {last, true, []string{"new", "new/object", "old/object", "yarn.lock", "."}},
		"ever":                {time.Time{}, true, []string{".", "new", "new/object", "new/old", "old", "old/object", "old/other", "yarn.lock", "."}},
		"not known":           {last, false, []string{".", "new", "new/object", "new/old", "old", "old/object", "old/other", "yarn.lock", "."}},
	} {
		var got []string
		note := func(path string) error {
			rel, err := filepath.Rel(dir, path)
			got = append(got, filepath.ToSlash(rel))
			if err == nil && rel == "yarn.lock" {
				return &os.PathError{Op: "sync", Path: path, Err: errKept}
			}
			return err
		}
		w := walk{tt.since, func(info fs.FileInfo) (time.Time, bool) {
			if slices.Contains(recent, info.Name()) {
				return last.Add(-slack), tt.known // the clock of the file system is behind
			}
			return last.Add(-slack - 1), tt.known
		}, note, note}
		if err := w.all(dir); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", what, got, err, tt.want)
		}
	}
	full := os.ErrDeadlineExceeded
	if err := (walk{changed: changedAt, file: func(string) error { return full }, dir: Dir}).all(dir); err == nil {
		t.Error("a file that is not on the disk counts as synced")
	}
	if err := walkTree(dir, time.Time{}); err != nil {
		t.Error(err)
	}
}

// A program that sets the time of a file does not hide the change.
func TestChangedAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	before := time.Now()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if at, known := changedAt(info); known && at.Before(before.Add(-slack)) {
		t.Errorf("changed at %v, and it is %v", at, before)
	}
}
