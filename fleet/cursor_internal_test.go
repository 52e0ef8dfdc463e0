package fleet

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// loads counts the entries that are read.
type loads struct {
	*store.MemoryStore
	read int
}

func (l *loads) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		for e, err := range l.MemoryStore.Load(ctx, k, after) {
			l.read++
			if !yield(e, err) {
				return
			}
		}
	}
}

// A reader that continues at a cursor reads no more of a long transcript than of a short
// one, and yields the same cursors as one that has read all of it. A cursor from another
// store, or from before cursors had landmarks, finds the same events.
func TestContinueAtCursor(t *testing.T) {
	const session, lines = "00000000-0000-4000-8000-000000000001", 1234
	db := &loads{MemoryStore: store.Memory()}
	f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
	var b store.Batch
	for i := range lines {
		b.Entries = append(b.Entries, store.Entry(fmt.Sprintf(`{"type":"assistant","uuid":"%d","message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":"%d"}]}}`, i, i/3, i)))
	}
	if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, b); err != nil {
		t.Fatal(err)
	}
	read := func(at position) (events []ConversationEvent) {
		t.Helper()
		r := &eventReader{records: f.records, key: "ada", at: at, yield: func(e ConversationEvent, err error) bool {
			events = append(events, e)
			return err == nil
		}}
		if more, err := r.readSession(t.Context()); !more || err != nil {
			t.Fatal(more, err)
		}
		return events
	}
	all := read(position{session: session})
	if len(all) != lines {
		t.Fatalf("%d events", len(all))
	}
	for i := range all {
		at, err := parseCursor(all[i].Cursor)
		if err != nil || all[i].Cursor.ID() != fmt.Sprintf("%s:%d", session, i+1) {
			t.Fatalf("%s: %s, %v", all[i].Cursor, all[i].Cursor.ID(), err)
		}
		if i%37 != 0 && i < lines-3 {
			continue
		}
		foreign, old := at, at
		foreign.near.sum++
		old.near = landmark{}
		db.read = 0
		rest := read(at)
		if n := lines - i - 1; db.read > n+3*answerLines {
			t.Errorf("%d entries were read for %d events", db.read, n)
		}
		for what, got := range map[string][]ConversationEvent{"its own": rest, "a foreign": read(foreign), "an old": read(old)} {
			if len(got) != lines-i-1 {
				t.Fatalf("%d events behind %s cursor %d", len(got), what, i)
			}
			for j := range got {
				if want := all[i+1+j]; got[j].Cursor != want.Cursor || got[j].Block != want.Block || string(got[j].Entry) != string(want.Entry) {
					t.Fatalf("event %d behind %s cursor %d: %+v", j, what, i, got[j])
				}
			}
		}
	}
}

// A reader that continues with the next session yields the cursors of one that begins there.
func TestCursorsOfTheNextSession(t *testing.T) {
	const first, second = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	db := store.Memory()
	f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
	for session, lines := range map[string]int{first: 3 * landmarkEvery, second: 2 * landmarkEvery} {
		var b store.Batch
		for i := range lines {
			b.Entries = append(b.Entries, store.Entry(fmt.Sprintf(`{"type":"user","uuid":"%s-%d","message":{"role":"user","content":"%d"}}`, session, i, i)))
		}
		if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, b); err != nil {
			t.Fatal(err)
		}
	}
	var cursors []Cursor
	reader := func(session string) *eventReader {
		cursors = nil
		return &eventReader{records: f.records, key: "ada", at: position{session: session}, yield: func(e ConversationEvent, err error) bool {
			cursors = append(cursors, e.Cursor)
			return err == nil
		}}
	}
	read := func(r *eventReader) []Cursor {
		t.Helper()
		if more, err := r.readSession(t.Context()); !more || err != nil {
			t.Fatal(more, err)
		}
		return cursors
	}
	want := read(reader(second))
	r := reader(first)
	read(r)
	cursors, r.at = nil, position{session: second}
	r.rewind()
	if got := read(r); len(want) != 2*landmarkEvery || !slices.Equal(got, want) {
		t.Errorf("%d cursors, want %d: the last is %s, want %s", len(got), len(want), got[len(got)-1], want[len(want)-1])
	}
}

// Texts that are not cursors are refused, and none of them makes a reader skip events.
func TestNoCursor(t *testing.T) {
	for _, c := range []Cursor{"s", "s:", "s:-1", "s:x", "s:200:", "s:200:100", "s:200:100.5", "s:200:100.5.", "s:200:100.5.xyz", "s:200:0.5.1", "s:200:100.0.1", "s:200:101.5.1", "s:200:100.5.123456789"} {
		if at, err := parseCursor(c); err == nil {
			t.Errorf("%s is %+v", c, at)
		}
	}
	for _, c := range []Cursor{"", "s:0", "s:7", "s:200:100.5.1f"} {
		if at, err := parseCursor(c); err != nil || c != "" && at.cursor() != c {
			t.Errorf("%s is %+v, %v", c, at, err)
		}
	}
}
