package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/jsonx"
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

// The text of an answer waits until the store has the calls of the answer before it, all
// of them, whether or not a reader has noticed that answer live. It waits for no attempt
// that was given up, and for nothing behind the end of a turn.
func TestLiveTextWaitsForCalls(t *testing.T) {
	const session = "00000000-0000-4000-8000-000000000001"
	call := func(line, answer string) string {
		return `{"type":"assistant","uuid":"` + line + `","message":{"id":"` + answer + `","role":"assistant","content":[{"type":"tool_use","id":"t` + line + `","name":"Bash","input":{}}]}}`
	}
	begin := func(id string) message.Message {
		return &message.StreamEvent{EventType: message.EventMessageStart, MessageID: id}
	}
	block := func(i int) message.Message {
		return &message.StreamEvent{EventType: message.EventBlockStart, Index: i, ContentBlock: &message.ToolUseBlock{}}
	}
	stop := &message.StreamEvent{EventType: message.EventMessageStop}
	abandoned := func(answer string, from int) message.Message {
		return &message.StreamEvent{EventType: message.EventMessageStop, AbandonedBlocks: &message.AbandonedBlocks{MessageID: answer, FromBlockIndex: from}}
	}
	text := &message.StreamEvent{EventType: message.EventBlockDelta, Delta: &message.Delta{Type: message.DeltaText, Text: "Done."}}
	for name, c := range map[string]struct {
		said   []message.Message // before the answer m9
		stored []string
		want   int // the line behind which its text comes
	}{
		"first":                {nil, nil, 0},
		"one call":             {[]message.Message{begin("m1"), block(0), stop}, []string{call("1", "m1")}, 1},
		"two calls":            {[]message.Message{begin("m1"), block(0), block(1), stop}, []string{call("1", "m1"), call("2", "m1")}, 2},
		"two answers":          {[]message.Message{begin("m1"), block(0), stop, begin("m2"), block(0), stop}, []string{call("1", "m1"), call("2", "m2")}, 2},
		"read on behind it":    {[]message.Message{begin("m1"), block(0), stop}, []string{call("1", "m1"), call("2", "m2")}, 1},
		"given up":             {[]message.Message{begin("m1"), block(0), stop, begin("m2"), block(0)}, []string{call("1", "m1")}, 1},
		"a block abandoned":    {[]message.Message{begin("m1"), block(0), block(1), abandoned("m1", 1)}, []string{call("1", "m1")}, 1},
		"abandoned as a whole": {[]message.Message{begin("m1"), block(0), abandoned("m1", 0)}, nil, 0},
		"another abandoned":    {[]message.Message{begin("m1"), block(0), abandoned("m0", 0)}, []string{call("1", "m1")}, 1},
		"empty":                {[]message.Message{begin("m1"), stop}, nil, 0},
		"of the last turn":     {[]message.Message{begin("m1"), block(0), stop, &message.Result{}}, nil, 0},
	} {
		said := append(slices.Clone(c.said), begin("m9"), block(0), text)
		for _, moved := range []int{-1, len(c.said), len(said)} { // when another process asks for it
			db := store.Memory()
			f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
			live := new(liveText)
			for i := range len(said) + 1 {
				if i == moved {
					live = ask(t, live)
				}
				if i < len(said) {
					live.add(said[i])
				}
			}
			shown := -1
			r := &eventReader{records: f.records, key: "ada", at: position{session: session}}
			for n := 0; n <= len(c.stored) && shown < 0; n++ {
				if n > 0 {
					if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, store.Batch{Entries: []store.Entry{store.Entry(c.stored[n-1])}}); err != nil {
						t.Fatal(err)
					}
				}
				r.yield = func(e ConversationEvent, err error) bool {
					if piece, ok := e.Message.(*message.StreamEvent); ok && piece.EventType == message.EventBlockDelta {
						shown = n
					}
					return err == nil
				}
				if more, err := r.readSession(t.Context()); !more || err != nil {
					t.Fatal(more, err)
				}
				u, _ := live.now()
				r.listen(u)
			}
			if shown != c.want {
				t.Errorf("%s, asked for at %d: the text comes behind line %d, want %d", name, moved, shown, c.want)
			}
		}
	}
}

// The text of an answer does not wait for ever for the calls of the answer before it: a
// reader that begins far behind them does not read them, and no store is certain to get them.
func TestLiveTextWaitsForCallsOnlyAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const session, results = "00000000-0000-4000-8000-000000000001", answerLines + 1
		db := store.Memory()
		f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
		lines := []store.Entry{store.Entry(`{"type":"assistant","uuid":"0","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`)}
		for i := range results {
			lines = append(lines, store.Entry(fmt.Sprintf(`{"type":"user","uuid":"%d","message":{"role":"user","content":"result"}}`, i+1)))
		}
		if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, store.Batch{Entries: lines}); err != nil {
			t.Fatal(err)
		}
		shown := 0
		r := &eventReader{records: f.records, key: "ada", at: position{session: session, lines: len(lines)}, yield: func(e ConversationEvent, err error) bool {
			shown++
			return err == nil
		}}
		if more, err := r.readSession(t.Context()); !more || err != nil {
			t.Fatal(more, err)
		}
		u := liveAnswer{answer: "m2", before: wholeAnswer{"m1", 1}, blocks: []liveTextBlock{{start: &message.StreamEvent{MessageID: "m2"}, delta: message.DeltaText, text: "Done."}}}
		begin := time.Now()
		for shown == 0 && time.Since(begin) < time.Minute {
			r.listen(u)
			<-time.After(time.Second)
		}
		if took := time.Since(begin); shown == 0 || took < 5*time.Second || took > 10*time.Second {
			t.Errorf("%d events after %v", shown, took)
		}
	})
}

// ask returns a live text as another process gets it.
func ask(t *testing.T, l *liveText) *liveText {
	t.Helper()
	state := l.state()
	for i := range state.Blocks {
		state.Blocks[i].Start = []byte(`{"type":"stream_event","event":{"type":"content_block_start","index":` + strconv.Itoa(i) + `,"content_block":{"type":"text","text":""}}}`)
	}
	data, err := jsonx.Marshal(state)
	var got liveState
	if err == nil {
		err = jsonx.Unmarshal(data, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := new(liveText)
	out.load(got, nil)
	return out
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

// People see what a command has printed for them, and that the context was compacted. The
// line and the message are those of the CLI's stream.
func TestToldLinesAreShown(t *testing.T) {
	m, e := said(store.Entry(`{"type":"system","subtype":"local_command","content":"<local-command-stdout>7k tokens</local-command-stdout>","uuid":"1","sessionId":"s"}`))
	if out, ok := m.(*message.LocalCommandOutput); !ok || out.Content != "7k tokens" || out.UUID != "1" || !strings.Contains(string(e), `"local_command_output"`) {
		t.Errorf("%#v in %s", m, e)
	}
	m, e = said(store.Entry(`{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":103,"postTokens":28},"uuid":"2","sessionId":"s"}`))
	if b, ok := m.(*message.CompactBoundary); !ok || b.Metadata.Trigger != "auto" || b.Metadata.PreTokens != 103 || b.Metadata.PostTokens != 28 || !strings.Contains(string(e), `"pre_tokens"`) {
		t.Errorf("%#v in %s", m, e)
	}
	if m, e := said(store.Entry(`{"type":"system","subtype":"turn_duration","uuid":"3"}`)); m != nil || e != nil {
		t.Errorf("another line is shown as %#v in %s", m, e)
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

// The text of an answer that another process is writing names its message, so that the
// stored message takes its place.
func TestLoadedTextNamesItsMessage(t *testing.T) {
	var l liveText
	start := `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}`
	l.load(liveState{Run: "r", Number: 3, Answer: "m1", Blocks: []liveBlock{{Start: []byte(start), Delta: message.DeltaText, Text: "Don"}}}, nil)
	u, _ := l.now()
	if len(u.blocks) != 1 || u.blocks[0].start.MessageID != "m1" || u.blocks[0].text != "Don" {
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
