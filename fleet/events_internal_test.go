package fleet

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A reader that continues behind the first block of an answer, while the second is being
// written, sees nothing more of the first.
func TestLiveBehindCursor(t *testing.T) {
	const session = "00000000-0000-4000-8000-000000000001"
	db := store.Memory()
	f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
	say := func(lines ...string) {
		t.Helper()
		var b store.Batch
		for _, line := range lines {
			b.Entries = append(b.Entries, store.Entry(line))
		}
		if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, b); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"type":"user","uuid":"1","message":{"role":"user","content":"hello"}}`,
		`{"type":"assistant","uuid":"2","message":{"id":"m1","role":"assistant","content":[{"type":"thinking","thinking":"Let me see."}]}}`)
	var got []string
	r := &eventReader{records: f.records, key: "ada", at: position{session: session, lines: 2}, yield: func(e ConversationEvent, err error) bool {
		got = append(got, fmt.Sprintf("live %t, block %d, %v", e.Live, e.Block, err))
		return true
	}}
	read := func() {
		t.Helper()
		if more, err := r.readSession(t.Context()); !more || err != nil {
			t.Fatal(more, err)
		}
	}
	live := liveAnswer{answer: "m1", blocks: []liveTextBlock{
		{start: &message.StreamEvent{MessageID: "m1", Index: 0}, delta: message.DeltaThinking, text: "Let me see."},
		{start: &message.StreamEvent{MessageID: "m1", Index: 1}, delta: message.DeltaText, text: "Don"},
	}}
	read()
	r.listen(live)
	say(`{"type":"assistant","uuid":"3","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Done."}]}}`)
	read()
	r.listen(live)
	want := []string{"live true, block 1, <nil>", "live true, block 1, <nil>", "live false, block 1, <nil>"} // its beginning, its text, and stored
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// People see no lines that the CLI writes for the model alone.
func TestMetaLinesAreNotShown(t *testing.T) {
	line := func(meta string) store.Entry {
		return store.Entry(`{"type":"user","uuid":"1",` + meta + `"message":{"role":"user","content":"hello"}}`)
	}
	for meta, shown := range map[string]bool{"": true, `"isMeta":false,`: true, `"isMeta":true,`: false} {
		if m, e := said(line(meta)); (m != nil) != shown || (e != nil) != shown {
			t.Errorf("with %s: %v", meta, m)
		}
	}
}

// Readers wake up when the whole answer of another process arrives.
func TestLoadedAnswerIsHeard(t *testing.T) {
	var l liveText
	_, changed := l.now()
	l.load(liveState{Run: "r", Number: 3, Answer: "m1"}, nil)
	select {
	case <-changed:
	default:
		t.Error("the readers still wait")
	}
	if u, _ := l.now(); u.answer != "m1" {
		t.Errorf("%+v", u)
	}
}

// A message of an earlier session of a conversation can be forked from. A message that none
// has, and any other error, ends the search.
func TestForkFromOlderSession(t *testing.T) {
	const older, newer, to = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"
	const first, second = "10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000002"
	db := store.Memory()
	f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
	for session, id := range map[string]string{older: first, newer: second} {
		line := fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":null,"sessionId":%q,"message":{"role":"user","content":"hello"}}`, id, session)
		if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, store.Batch{Entries: []store.Entry{store.Entry(line)}}); err != nil {
			t.Fatal(err)
		}
	}
	rec := &record{Older: []string{older}, Session: newer}
	if err := f.copier.forkSession(t.Context(), rec, first, to); err != nil {
		t.Error(err)
	}
	if err := f.copier.forkSession(t.Context(), rec, "10000000-0000-4000-8000-000000000009", "00000000-0000-4000-8000-000000000004"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a message that no session has: %v", err)
	}
}
