package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// The bounds of names, owners, times and numbers are exactly those that are documented: a
// value that one store took must not be refused by another.
func TestBounds(t *testing.T) {
	name := func(n int) string { return strings.Repeat("a", n) }
	path := func(n int) string { return strings.TrimSuffix(strings.Repeat("a/", n), "/") }
	changes := func(n int) (all []store.RecordChange) {
		for i := range n {
			all = append(all, store.RecordChange{Key: store.RecordKey{Project: "p", Kind: "k", Name: fmt.Sprint("n", i)}})
		}
		return all
	}
	keys := func(n int) (all []store.RecordKey) {
		for _, c := range changes(n) {
			all = append(all, c.Key)
		}
		return all
	}
	folders := func(n int) (all []store.Folder) {
		for _, k := range keys(n) {
			all = append(all, store.Folder(k))
		}
		return all
	}
	const id = "00000000-0000-4000-8000-000000000001"
	put := func(k store.RecordKey, size int, revision int64, f store.Fence) error {
		return store.CheckChanges([]store.RecordChange{{Key: k, Value: make([]byte, size), Revision: revision}}, f)
	}
	good := store.RecordKey{Project: "p", Kind: "k", Name: "n"}
	for what, c := range map[string]struct {
		err error
		ok  bool
	}{
		"the longest project":       {store.CheckProject(name(120)), true},
		"a longer project":          {store.CheckProject(name(121)), false},
		"all characters":            {store.CheckProject("0-_.@+=:,~"), true},
		"a special one first":       {store.CheckProject("-a"), false},
		"the longest sub":           {store.Key{Project: "p", Session: id, Sub: path(8)}.Check(), true},
		"a longer sub":              {store.Key{Project: "p", Session: id, Sub: path(9)}.Check(), false},
		"a sub with a gap":          {store.Key{Project: "p", Session: id, Sub: "a//b"}.Check(), false},
		"the longest record name":   {store.RecordKey{Project: "p", Kind: "k", Name: path(8)}.Check(), true},
		"a longer record name":      {store.RecordKey{Project: "p", Kind: "k", Name: path(9)}.Check(), false},
		"a kind with a slash":       {store.RecordKey{Project: "p", Kind: "k/l", Name: "n"}.Check(), false},
		"the largest record":        {put(good, store.MaxRecord, 0, store.Fence{}), true},
		"a larger record":           {put(good, store.MaxRecord+1, 0, store.Fence{}), false},
		"a negative revision":       {put(good, 0, -1, store.Fence{}), false},
		"a fence of the project":    {put(good, 0, 0, store.Fence{Project: "p", Name: "l", Token: 1}), true},
		"a fence of another":        {put(good, 0, 0, store.Fence{Project: "q", Name: "l", Token: 1}), false},
		"a fence without a name":    {put(good, 0, 0, store.Fence{Project: "p", Token: 1}), false},
		"no changes":                {store.CheckChanges(nil, store.Fence{}), false},
		"the most changes":          {store.CheckChanges(changes(store.MaxChanges), store.Fence{}), true},
		"more changes":              {store.CheckChanges(changes(store.MaxChanges+1), store.Fence{}), false},
		"the same twice":            {store.CheckChanges(append(changes(2), changes(1)...), store.Fence{}), false},
		"two projects":              {store.CheckChanges([]store.RecordChange{{Key: good}, {Key: store.RecordKey{Project: "q", Kind: "k", Name: "m"}}}, store.Fence{}), false},
		"a value to drop":           {store.CheckChanges([]store.RecordChange{{Key: good, Drop: true, Revision: 1, Value: []byte("x")}}, store.Fence{}), false},
		"made if a folder is empty": {store.CheckChanges([]store.RecordChange{{Key: good, IfEmpty: "a/b"}}, store.Fence{}), true},
		"changed if it is":          {store.CheckChanges([]store.RecordChange{{Key: good, IfEmpty: "a/b", Revision: 1}}, store.Fence{}), false},
		"a bad folder":              {store.CheckChanges([]store.RecordChange{{Key: good, IfEmpty: "../b"}}, store.Fence{}), false},
		"no keys to view":           {store.View{}.Check(), false},
		"the most keys":             {store.View{Keys: keys(60), Folders: folders(40)}.Check(), true},
		"more keys":                 {store.View{Keys: keys(60), Folders: folders(41)}.Check(), false},
		"keys of two projects":      {store.View{Keys: keys(1), Folders: []store.Folder{{Project: "q", Kind: "k", Name: "n"}}}.Check(), false},
	} {
		if c.ok != (c.err == nil) || c.err != nil && !errors.Is(c.err, store.ErrInvalid) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
}

// An error names the whole key, but no more of it than a line has room for.
func TestKeyErrors(t *testing.T) {
	err := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001", Sub: "a/../b"}.Check()
	if e, ok := errors.AsType[*store.KeyError](err); !ok || e.Part != "sub" || e.Value != "a/../b" {
		t.Errorf("%#v", err)
	}
	err = store.CheckProject(strings.Repeat("x", 10_000))
	if e, ok := errors.AsType[*store.KeyError](err); !ok || len(e.Value) != 10_000 || len(err.Error()) > 200 || !strings.Contains(err.Error(), "…") {
		t.Errorf("%.300v", err)
	}
}

// Revisions differ, and grow, even if the clock stands still.
func TestFilesRevisionsWithoutClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Files(t.TempDir())
		s.NoSync = true
		k := store.RecordKey{Project: "p", Kind: "k", Name: "n"}
		last := int64(0)
		for i := range 3 {
			next, err := store.Put(t.Context(), s, k, fmt.Append(nil, i), last, store.Fence{})
			if err != nil || next <= last {
				t.Fatalf("revision %d after %d, %v", next, last, err)
			}
			if _, err := store.Put(t.Context(), s, k, nil, last, store.Fence{}); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a change that is based on revision %d of %d: %v", last, next, err)
			}
			last = next
		}
	})
}

// A journal belongs to the user alone, like the directory that is made for it.
func TestJournalIsPrivate(t *testing.T) {
	need.FileModes.Test(t)
	dir := filepath.Join(t.TempDir(), "a", "journals")
	j, err := store.CreateJournal(dir, "session")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{j.Path(): 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Entries of a journal are stored under the fence of the caller, or not at all.
func TestImportJournalIsFenced(t *testing.T) {
	j, err := store.CreateJournal(t.TempDir(), "session")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Remove()
	if err := j.Append(key, store.Batch{ID: "b", Entries: []store.Entry{store.Entry(`{"uuid":"1"}`), store.Entry(`{"uuid":"2"}`)}}); err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	old, err := s.Acquire(t.Context(), "p", "l", "old", time.Hour)
	if err == nil {
		err = s.Release(t.Context(), old)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := store.ImportJournal(t.Context(), s, j.Path(), old.Fence); n != 0 || !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("a lost owner stored %d, %v", n, err)
	}
	if got, err := load(t, s); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("stored: %s, %v", got, err)
	}
	now, err := s.Acquire(t.Context(), "p", "l", "new", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := store.ImportJournal(t.Context(), s, j.Path(), now.Fence); n != 2 || err != nil {
		t.Errorf("the owner stored %d, %v", n, err)
	}
}
