package fleet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A reader that continues behind the first block of an answer, while the second is being
// written, sees nothing more of the first.
func TestLiveBehindCursor(t *testing.T) {
	const session = "00000000-0000-4000-8000-000000000001"
	db := store.Memory()
	f := assemble(t.Context(), Options{Store: db, Project: "p"})
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
