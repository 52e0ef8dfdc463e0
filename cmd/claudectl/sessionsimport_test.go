package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// What a session could not store is in the store after an import, once, however
// often it is imported.
func TestSessionsImport(t *testing.T) {
	const id = "10000000-0000-4000-8000-000000000001"
	journal, err := store.CreateJournal(t.TempDir(), id)
	if err != nil {
		t.Fatal(err)
	}
	err = journal.Append(store.Key{Project: "tenant", Session: id}, store.Batch{ID: uuid.New(), Entries: []store.Entry{
		store.Entry(`{"type":"user","uuid":"u","parentUuid":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Hello"}}`),
		store.Entry(`{"type":"custom-title","customTitle":"Greeting"}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 {
		if got := manage(t, t.TempDir(), "import", journal.Path(), "--store", dir); got.code != 0 || !strings.HasPrefix(got.stdout, "2 entries of ") {
			t.Fatalf("%+v", got)
		}
	}
	h := history.In(store.Files(dir), "tenant")
	tr, err := h.Read(t.Context(), id)
	if err != nil || tr.Len() != 1 {
		t.Errorf("%+v, %v", tr, err)
	}
	if info, err := h.Info(t.Context(), id); err != nil || info.Title != "Greeting" {
		t.Errorf("%+v, %v", info, err)
	}
	for _, args := range [][]string{
		{"import", filepath.Join(dir, "none"), "--store", dir},
		{"import", journal.Path(), "--store", filepath.Join(dir, "none")},
	} {
		if got := manage(t, t.TempDir(), args...); got.code != int(exitInput) || got.stderr == "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
