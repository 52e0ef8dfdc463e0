package serve

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// meddled is a store in which something happens after the head of a log was read: once.
type meddled struct {
	store.Records
	then func()
}

func (m *meddled) View(ctx context.Context, v store.View) ([]store.Record, error) {
	r, err := m.Records.View(ctx, v)
	if do := m.then; do != nil && v.Keys[0].Kind == eventlog.Kind {
		m.then = nil
		do()
	}
	return r, err
}

// An attempt to delete that finds the conversation open again, because an earlier one
// has failed, leaves the note to the next attempt: that one may fail as well, and a
// conversation without its note has no owner.
func TestLateDeletionKeepsNote(t *testing.T) {
	t.Parallel()
	const key = "ada/1"
	db := &meddled{Records: store.Memory()}
	notes, book := noteStore{db, "p"}, eventlog.NewStore(db, "p")
	er := &eraser{notes: notes, book: book, records: db, project: "p"}
	noteBefore := note{Key: key, Owner: "ada", Title: "Mine"}
	if err := notes.create(t.Context(), &noteBefore); err != nil {
		t.Fatal(err)
	}
	db.then = func() {
		if err := book.BeginErasing(t.Context(), key, "next", func(*eventlog.Head, time.Time) error { return nil }); err != nil {
			t.Error(err)
		}
		if first, err := notes.markDeleted(t.Context(), key, time.Time{}, time.Now()); err != nil || !first {
			t.Errorf("%v, %v", first, err)
		}
	}
	if err := er.finishErasing(t.Context(), key, "late"); err != nil {
		t.Fatal(err)
	}
	if db.then != nil {
		t.Fatal("the log was not read")
	}
	if err := er.undelete(t.Context(), key, "next"); err != nil {
		t.Fatal(err)
	}
	if n, _, err := notes.load(t.Context(), key); err != nil || n.Owner != "ada" || n.Title != "Mine" {
		t.Errorf("the note is %+v, %v", n, err)
	}
}

// A tombstone that outlives its log, because the process died in between, is removed.
func TestTombstoneIsRemoved(t *testing.T) {
	t.Parallel()
	const key = "ada/1"
	db := store.Memory()
	er := &eraser{notes: noteStore{db, "p"}, book: eventlog.NewStore(db, "p"), records: db, project: "p"}
	if err := er.notes.create(t.Context(), &note{Key: key, Owner: "ada", Deleted: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := er.finishErasing(t.Context(), key, "late"); err != nil {
		t.Fatal(err)
	}
	if n, revision, err := er.notes.loadAny(t.Context(), key); revision != 0 {
		t.Errorf("the note is %+v, %v", n, err)
	}
}

// A conversation that did not begin is left to an attempt that deletes it already, and
// nothing is logged.
func TestUndoLeavesDeletionToOthers(t *testing.T) {
	t.Parallel()
	const key = "ada/1"
	db := store.Memory()
	var said bytes.Buffer
	er := &eraser{notes: noteStore{db, "p"}, book: eventlog.NewStore(db, "p"), records: db, project: "p"}
	cr := &creator{logger: slog.New(slog.NewTextHandler(&said, nil)), eraser: er}
	if err := er.book.BeginErasing(t.Context(), key, "other", func(*eventlog.Head, time.Time) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := er.eraseUnused(t.Context(), key); !beingErased(err) {
		t.Errorf("the deletion of another attempt is %v", err)
	}
	cr.undo(t.Context(), &note{Key: key}, fleet.ErrOverloaded)
	if said.Len() > 0 {
		t.Errorf("logged %s", &said)
	}
}
