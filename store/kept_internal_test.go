package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const keptSession = "00000000-0000-4000-8000-000000000001"

// A lease that is not renewed is free at the moment at which it ends, and not before.
func TestMemoryLeaseEnds(t *testing.T) {
	now := time.Unix(1000, 0)
	m := &MemoryStore{now: func() time.Time { return now }}
	if _, err := m.Acquire(t.Context(), "p", "l", "a", time.Minute); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute - 1)
	if _, err := m.Acquire(t.Context(), "p", "l", "b", time.Minute); !errors.Is(err, ErrLeased) {
		t.Errorf("before its end: %v", err)
	}
	now = now.Add(1)
	if l, err := m.Acquire(t.Context(), "p", "l", "b", time.Minute); err != nil || l.Token != 2 {
		t.Errorf("at its end: %+v, %v", l, err)
	}
}

// What callers do to values that they gave or got changes nothing in the store.
func TestMemoryKeepsItsOwn(t *testing.T) {
	m := Memory()
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 'x'
		}
	}
	k, session := RecordKey{Project: "p", Kind: "k", Name: "f/a"}, Key{Project: "p", Session: keptSession}
	value, line := []byte("value"), Entry(`{"type":"user","uuid":"u1","message":{"content":"hello"}}`)
	said := string(line)
	if _, err := Put(t.Context(), m, k, value, 0, Fence{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Append(t.Context(), session, Batch{ID: "b1", Entries: []Entry{line}}); err != nil {
		t.Fatal(err)
	}
	spoil(value)
	spoil(line)
	for range 2 {
		got, err := Get(t.Context(), m, k)
		all := map[string][]byte{"get": got.Value}
		for r, scanErr := range m.Scan(t.Context(), Folder{Project: "p", Kind: "k"}, "") {
			all["scan"], err = r.Value, errors.Join(err, scanErr)
		}
		view, viewErr := m.View(t.Context(), View{Keys: []RecordKey{k}})
		below, belowErr := m.View(t.Context(), View{Keys: []RecordKey{{Project: "p", Kind: "k", Name: "other"}}, Folders: []Folder{{Project: "p", Kind: "k", Name: "f"}}})
		if err = errors.Join(err, viewErr, belowErr); err != nil || len(view) != 1 || len(below) != 1 {
			t.Fatalf("%d and %d records, %v", len(view), len(below), err)
		}
		all["view"], all["view of a folder"] = view[0].Value, below[0].Value
		for name, got := range all {
			if string(got) != "value" {
				t.Errorf("%s: %q", name, got)
			}
			spoil(got)
		}
		for e, err := range m.Load(t.Context(), session, 0) {
			if err != nil || string(e.Entry) != said {
				t.Errorf("%s, %v", e.Entry, err)
			}
			spoil(e.Entry)
		}
		for s, err := range m.List(t.Context(), "p") {
			if err != nil || strings.Contains(string(s.Data), "xxxx") {
				t.Errorf("%s, %v", s.Data, err)
			}
			spoil(s.Data)
		}
	}
}

// Nothing that was said is left in the directory when a session is deleted: neither in its
// summary, nor in those of its subagents.
func TestFilesDeleteLeavesNoWord(t *testing.T) {
	s := &FileStore{dir: t.TempDir(), NoSync: true}
	for _, sub := range []string{"", "subagents/agent-a"} {
		line := Entry(`{"type":"user","uuid":"u` + sub + `","message":{"role":"user","content":"forget these words"}}`)
		if err := s.Append(t.Context(), Key{Project: "p", Session: keptSession, Sub: sub}, Batch{ID: "b1", Entries: []Entry{line}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range s.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), Key{Project: "p", Session: keptSession}, Fence{}); err != nil {
		t.Fatal(err)
	}
	if len(s.known) != 0 || len(s.recent) != 0 {
		t.Errorf("%d transcripts are remembered", len(s.known))
	}
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, summaryEnd) || strings.Contains(string(text), "words") {
			t.Errorf("%s is left: %q", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A lease that cannot be read is an error each time, and keeps no lock.
func TestFilesDamagedLease(t *testing.T) {
	s := &FileStore{dir: t.TempDir(), NoSync: true}
	l, err := s.Acquire(t.Context(), "p", "l", "a", time.Minute)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, leasePath("p", "l")+valueEnd), []byte("{"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Acquire(t.Context(), "p", "l", "b", time.Minute); !errors.Is(err, ErrDamaged) {
			t.Errorf("Acquire: %v", err)
		}
		if err := s.Renew(t.Context(), l); !errors.Is(err, ErrDamaged) {
			t.Errorf("Renew: %v", err)
		}
	}
}

// Lines of a file that was put there by hand may end as on Windows.
func TestFilesByHandFromWindows(t *testing.T) {
	s := &FileStore{dir: t.TempDir(), NoSync: true}
	name := filepath.Join(s.dir, transcriptFile(Key{Project: "p", Session: keptSession})+dataEnd)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("{\"a\":1}\r\n\r\n{\"a\":2}\r\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got := ""
	for e, err := range s.Load(t.Context(), Key{Project: "p", Session: keptSession}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got += string(e.Entry) + "|"
	}
	if got != `{"a":1}|{"a":2}|` {
		t.Errorf("%q", got)
	}
}

// What is remembered of transcripts is bounded.
func TestFilesRememberFew(t *testing.T) {
	s := &FileStore{dir: t.TempDir(), NoSync: true}
	for n := range maxKnown + 5 {
		k := Key{Project: "p", Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
		if err := s.Append(t.Context(), k, Batch{ID: "b1", Entries: []Entry{Entry(`{"type":"user"}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.known) != maxKnown || len(s.recent) != maxKnown {
		t.Errorf("%d transcripts are remembered, %d in order", len(s.known), len(s.recent))
	}
}
