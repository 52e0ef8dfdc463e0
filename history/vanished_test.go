package history_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// A session that is deleted by another process between two calls of the store is not found,
// like one that was never there; in a list it is left out, and the others count.
func TestVanishedSessions(t *testing.T) {
	db := store.Memory()
	there, gone := store.Key{Project: "p", Session: sid(1)}, store.Key{Project: "p", Session: sid(2)}
	for _, k := range []store.Key{there, gone} {
		entry := store.Entry(`{"type":"user","uuid":"1","parentUuid":null,"sessionId":"` + k.Session + `","message":{"role":"user","content":"hello"}}`)
		if err := db.Append(t.Context(), k, store.Batch{Entries: []store.Entry{entry}}); err != nil {
			t.Fatal(err)
		}
	}
	modified := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := store.Basic{
		LoadFunc: func(ctx context.Context, k store.Key) iter.Seq2[store.Entry, error] { return store.Entries(ctx, db, k) },
		AppendFunc: func(ctx context.Context, k store.Key, b store.Batch) error { // it was there a moment ago
			if err := db.Delete(ctx, gone, store.Fence{}); err != nil {
				return err
			}
			return db.Append(ctx, k, b)
		},
		ListFunc: func(context.Context, string) iter.Seq2[store.Summary, error] { // without summaries
			return func(yield func(store.Summary, error) bool) {
				_ = yield(store.Summary{Session: gone.Session, Modified: modified.Add(time.Hour)}, nil) && yield(store.Summary{Session: there.Session, Modified: modified}, nil)
			}
		},
	}
	h := history.In(s, "p")
	if err := h.Rename(t.Context(), gone.Session, "a title"); !errors.Is(err, history.ErrNotFound) || !errors.Is(err, store.ErrDeleted) {
		t.Errorf("renamed: %v", err)
	}
	var listed []history.SessionInfo
	for info, err := range h.List(t.Context(), history.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, info)
	}
	if len(listed) != 1 || listed[0].ID != there.Session || listed[0].Title != "hello" || !listed[0].Modified.Equal(modified) {
		t.Errorf("listed: %+v", listed)
	}
	if err := h.Rename(t.Context(), there.Session, "a title"); err != nil {
		t.Error(err)
	}
}
