package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A change of several records costs one sync, however many there are.
func TestFilesChangeSyncsOnce(t *testing.T) {
	s := Files(t.TempDir())
	syncs := 0
	s.fsync = func(*os.File) error { syncs++; return nil }
	var changes []RecordChange
	for i := range 5 {
		changes = append(changes, RecordChange{Key: thing(fmt.Sprint(i)), Value: []byte("one")})
	}
	for i := range 3 {
		syncs = 0
		next, err := s.Change(t.Context(), Fence{}, changes...)
		if err != nil {
			t.Fatal(err)
		}
		for j := range changes {
			changes[j].Revision = next[j]
		}
		if i > 0 && syncs != 1 { // the first makes the log
			t.Errorf("change %d of five records: %d syncs", i, syncs)
		}
	}
}

// A process that is killed at any sync of a change, also of one that writes the log anew,
// leaves all of the change or nothing, and the next process continues from there.
func TestFilesChangeKilled(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"first":  func(string) {},
		"next":   func(dir string) { changeTwo(t, quickFiles(dir), "before") },
		"killed": func(dir string) { changeTwo(t, quickFiles(dir), "before"); begun(t, dir) },
	} {
		dir, kept := t.TempDir(), t.TempDir()
		prepare(dir)
		var states []string
		s := Files(dir)
		s.made = true
		s.fsync = func(*os.File) error {
			to := filepath.Join(kept, fmt.Sprint(len(states)))
			states = append(states, to)
			return os.CopyFS(to, os.DirFS(dir))
		}
		changeTwo(t, s, "after")
		if len(states) < 3 {
			t.Fatalf("%s: it syncs at %q only", name, states)
		}
		for i, dir := range states {
			for _, last := range []bool{false, true} {
				s := quickFiles(dir)
				all, err := s.View(t.Context(), View{Keys: []RecordKey{thing("a"), thing("b")}})
				if err != nil || len(all) == 1 || len(all) == 2 && string(all[0].Value) != string(all[1].Value) {
					t.Fatalf("%s, killed at sync %d: %v, %v", name, i, all, err)
				}
				if len(all) == 0 && (name != "first" || last) {
					t.Errorf("%s, killed at sync %d: what was there is lost", name, i)
				}
				changeTwo(t, s, "again")
			}
			if _, err := os.Stat(filepath.Join(dir, "p", logNewFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s, killed at sync %d: a log in the making is left: %v", name, i, err)
			}
		}
	}
}

// begun marks that the last writer did not come to its end.
func begun(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "p", logLockFile), []byte{markBegun}, 0o600); err != nil {
		t.Fatal(err)
	}
}

// changeTwo gives two records the same value, in one change.
func changeTwo(t *testing.T, s *FileStore, value string) {
	t.Helper()
	changes := []RecordChange{{Key: thing("a"), Value: []byte(value)}, {Key: thing("b"), Value: []byte(value)}}
	all, err := s.View(t.Context(), View{Keys: []RecordKey{thing("a"), thing("b")}})
	for i, r := range all {
		changes[i].Revision = r.Revision
	}
	if err == nil {
		_, err = s.Change(t.Context(), Fence{}, changes...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// After a sync that failed, the system may have forgotten what it could not write: the next
// writer, in whatever process, appends nothing to that log, and writes another.
func TestFilesLogAfterFailedSync(t *testing.T) {
	s := Files(t.TempDir())
	changeTwo(t, s, "before")
	errDisk := errors.New("input/output error")
	s.fsync = func(*os.File) error { return errDisk }
	if _, err := s.Change(t.Context(), Fence{}, RecordChange{Key: thing("c"), Value: []byte("perhaps")}); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	before, err := os.Stat(logOf(s.dir))
	if err != nil {
		t.Fatal(err)
	}
	changeTwo(t, quickFiles(s.dir), "after")
	after, err := os.Stat(logOf(s.dir))
	if err != nil || os.SameFile(before, after) {
		t.Errorf("the next writer appends to the same log, %v", err)
	}
	changeTwo(t, quickFiles(s.dir), "after that")
	if now, err := os.Stat(logOf(s.dir)); err != nil || !os.SameFile(now, after) {
		t.Errorf("and the next one writes another again, %v", err)
	}
}

// A process that has written before is not held up by a log that another one was writing
// when it was killed.
func TestFilesLogInTheMaking(t *testing.T) {
	s := quickFiles(t.TempDir())
	changeTwo(t, s, "before")
	begun(t, s.dir)
	left := filepath.Join(s.dir, "p", logNewFile)
	if err := os.WriteFile(left, []byte("half a log"), 0o600); err != nil {
		t.Fatal(err)
	}
	changeTwo(t, s, "after")
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}
