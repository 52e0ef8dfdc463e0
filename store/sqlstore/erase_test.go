package sqlstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/sqlstore"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// When a session is deleted and the database is closed, no file of it has what was
// said: neither in pages that are free nor in the write-ahead log.
func TestSQLiteErases(t *testing.T) {
	const mark = "mark-6f1c0f9e"
	dir := t.TempDir()
	s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(dir, "agents.db"))
	if err != nil {
		t.Fatal(err)
	}
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	entry := store.Entry(`{"type":"user","uuid":"a","text":"` + strings.Repeat(mark+" ", 2000) + `"}`)
	if err := s.Append(t.Context(), k, store.Batch{ID: storeimpl.NewBatchID(), Entries: []store.Entry{entry}}); err != nil {
		t.Fatal(err)
	}
	revision, err := store.Put(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: "n"}, entry, 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), k, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Drop(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: "n"}, revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(mark)); n > 0 {
			t.Errorf("%s has it %d times", f.Name(), n)
		}
	}
}
