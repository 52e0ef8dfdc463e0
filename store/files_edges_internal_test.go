package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// edgeFiles returns a store with one entry, and the path of its transcript without an ending.
func edgeFiles(t *testing.T) (s *FileStore, k Key, path string) {
	t.Helper()
	dir := t.TempDir()
	s, k = Files(dir), Key{Project: "p", Session: keptSession}
	if err := s.Append(t.Context(), k, Batch{ID: "a", Entries: []Entry{Entry(`{"uuid":"1"}`)}}); err != nil {
		t.Fatal(err)
	}
	return s, k, filepath.Join(dir, filepath.FromSlash(transcriptFile(k)))
}

// addTo appends text to a file, as a process does that dies in the middle of a write.
func addTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What a crash has left behind the last commit is gone after the next append, however long
// it was: people and tools read these files.
func TestFilesCutOffRests(t *testing.T) {
	for _, ending := range []string{dataEnd, commitsEnd} {
		s, k, path := edgeFiles(t)
		addTo(t, path+ending, strings.Repeat("9", 200))
		if err := Files(s.dir).Append(t.Context(), k, Batch{ID: "b", Entries: []Entry{Entry(`{"uuid":"2"}`)}}); err != nil {
			t.Fatalf("behind the rest in %s: %v", ending, err)
		}
		data, err := os.ReadFile(path + dataEnd)
		if want := "{\"uuid\":\"1\"}\n{\"uuid\":\"2\"}\n"; err != nil || string(data) != want {
			t.Errorf("with a rest in %s: %q, %v", ending, data, err)
		}
		commits, err := os.ReadFile(path + commitsEnd)
		if err != nil || bytes.Contains(commits, []byte("999")) || !bytes.HasSuffix(commits, []byte(" b\n")) {
			t.Errorf("with a rest in %s: commits %q, %v", ending, commits, err)
		}
	}
}

// A place behind the end, as another store may have made it, has nothing behind it.
func TestFilesPlaceBehindTheEnd(t *testing.T) {
	s, k, path := edgeFiles(t)
	addTo(t, path+dataEnd, "{\"uuid\":\"2\"}\n{\"uuid\":\"3\"}\n") // not committed
	for _, place := range []Place{13, 14, 26, 1 << 40} {
		for e, err := range s.Load(t.Context(), k, place) {
			t.Errorf("behind %d: %s, %v", place, e.Entry, err)
		}
	}
}

// A session of which nothing is committed is not listed.
func TestFilesListNothingCommitted(t *testing.T) {
	s, _, path := edgeFiles(t)
	other := filepath.Join(filepath.Dir(path), "00000000-0000-4000-8000-000000000002"+dataEnd)
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for item, err := range s.List(t.Context(), "p") {
		got = append(got, fmt.Sprint(item.Session, err))
	}
	if want := keptSession + "<nil>"; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
}

// A transcript is removed only when nothing of it counts any more: a crash leaves all of it
// or none.
func TestFilesDeleteOrder(t *testing.T) {
	s, k, path := edgeFiles(t)
	synced := 0
	s.fsync = func(f *os.File) error {
		if strings.HasSuffix(f.Name(), commitsEnd) {
			synced++
			if _, err := os.Stat(path + dataEnd); err != nil {
				t.Errorf("the transcript is gone before its commits are written: %v", err)
			}
		}
		return f.Sync()
	}
	if err := s.Delete(t.Context(), k, Fence{}); err != nil || synced == 0 {
		t.Errorf("%v, the commits were synced %d times", err, synced)
	}
}

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 2*MaxEntry {
		return 0, errors.New("it was read on")
	}
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// A line that is too long is damage, and is not read to its end.
func TestFilesLongestLine(t *testing.T) {
	if _, err := readLine(bufio.NewReaderSize(new(endless), 1<<20)); !errors.Is(err, ErrDamaged) {
		t.Errorf("an endless line: %v", err)
	}
}
