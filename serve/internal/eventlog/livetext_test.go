package eventlog

import (
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// piece is more text of a block.
func piece(id string, block int, text string) *message.StreamEvent {
	return &message.StreamEvent{MessageID: id, EventType: message.EventBlockDelta, Index: block, Delta: &message.Delta{Type: "text_delta", Text: text}}
}

// A reader sees all open blocks first, then what is added, with offsets as
// JavaScript counts; what the transcript has is no longer live.
func TestLiveText(t *testing.T) {
	t.Parallel()
	var live liveText
	var reader, late seen
	if news := live.news(&reader); len(news) != 0 {
		t.Errorf("%+v", news)
	}
	live.take(piece("m", 0, "ä😀"), 0)
	if news := live.news(&reader); len(news) != 1 || news[0].Type != api.EventPartial || news[0].Partial[0].Text != "ä😀" {
		t.Errorf("%+v", news)
	}
	live.said([]byte(`{"type":"user","message":{"content":"the prompt, stored late"}}`))
	live.take(piece("m", 0, "b"), 6)
	live.take(piece("m", 0, "c"), 7)
	live.take(piece("m", 1, "second"), 0)
	news := live.news(&reader)
	if len(news) != 2 || *news[0].Delta != (api.Delta{Message: "m", Block: 0, Kind: "text", Offset: 3, Text: "bc"}) || *news[1].Delta != (api.Delta{Message: "m", Block: 1, Kind: "text", Offset: 0, Text: "second"}) {
		t.Errorf("%+v", news)
	}
	if news := live.news(&reader); len(news) != 0 {
		t.Errorf("%+v", news)
	}
	if news := live.news(&late); len(news) != 1 || len(news[0].Partial) != 2 || news[0].Partial[0].Text != "ä😀bc" {
		t.Errorf("%+v", news)
	}
	live.said([]byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"ä😀bc"}]}}`))
	live.take(piece("m", 1, " more"), 6)
	if live.take(piece("m", 0, "late"), 8) {
		t.Error("a block that the transcript has is live")
	}
	if news := live.news(&late); len(news) != 1 || *news[0].Delta != (api.Delta{Message: "m", Block: 1, Kind: "text", Offset: 6, Text: " more"}) {
		t.Errorf("%+v", news)
	}
	live.take(piece("n", 0, "next"), 0)
	if news := live.news(&late); len(news) != 1 || news[0].Type != api.EventPartial || len(news[0].Partial) != 1 || news[0].Partial[0].Message != "n" {
		t.Errorf("%+v", news)
	}
	child := piece("x", 0, "of a subagent")
	child.ParentToolUseID = "toolu_1"
	if live.take(child, 0) || len(live.blocks) != 1 {
		t.Errorf("%+v", live)
	}
}

// A text behind a call of the same answer is live once the transcript has the call, for
// readers who were there and for those who come.
func TestLiveTextBehindCall(t *testing.T) {
	t.Parallel()
	var live liveText
	var reader, late seen
	live.take(piece("m", 0, "before"), 0)
	live.take(&message.StreamEvent{MessageID: "m", EventType: message.EventBlockStart, Index: 1, ContentBlock: &message.ToolUseBlock{ID: "t", Name: "Bash"}}, 0)
	live.take(piece("m", 2, "behind"), 0)
	for name, s := range map[string]*seen{"first": &reader, "late": &late} {
		if news := live.news(s); len(news) != 1 || len(news[0].Partial) != 1 || news[0].Partial[0].Text != "before" {
			t.Errorf("%s: %+v", name, news)
		}
	}
	live.said([]byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"before"}]}}`))
	if news := live.news(&reader); len(news) != 0 {
		t.Errorf("before the call: %+v", news)
	}
	live.said([]byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`))
	for name, s := range map[string]*seen{"first": &reader, "late": &late} {
		if news := live.news(s); len(news) != 1 || news[0].Delta == nil || *news[0].Delta != (api.Delta{Message: "m", Block: 2, Kind: "text", Text: "behind"}) {
			t.Errorf("%s: %+v", name, news)
		}
	}
	live.take(&message.StreamEvent{EventType: message.EventMessageStart, MessageID: "n"}, 0)
	live.take(piece("n", 2, "next"), 0)
	if news := live.news(&reader); len(news) != 1 || len(news[0].Partial) != 1 {
		t.Errorf("the next answer: %+v", news)
	}
}

// A text whose line another server was the first to log is not live any more.
func TestTextOfOtherServerIsNotLive(t *testing.T) {
	t.Parallel()
	const line = `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hello"}]}}`
	l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	if err := l.Hear(t.Context(), fleet.ConversationEvent{Live: true, Message: piece("m", 0, "Hello")}); err != nil {
		t.Fatal(err)
	}
	if v := l.view(0, new(seen), false); len(v.text) != 1 {
		t.Errorf("while it is written: %+v", v)
	}
	l.add(said(1, ""))
	l.fill("at 1", []byte(line))
	if v := l.view(0, new(seen), false); len(v.events) != 1 || len(v.text) != 0 {
		t.Errorf("when it is stored: %d events, and live %+v", len(v.events), v.text)
	}
}

// A line that is late, of a message that nobody saw being written, takes away what is being
// written. The rest of it alone is not shown as if it were the text.
func TestLiveTextHasItsBeginning(t *testing.T) {
	t.Parallel()
	var live liveText
	live.take(piece("m2", 0, "You said: and th"), 0)
	live.said([]byte(`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"It says: built"}]}}`))
	if live.take(piece("m2", 0, "en?"), 16) || len(live.blocks) != 0 {
		t.Errorf("what is being written is %+v", live.blocks)
	}
	live.take(piece("m2", 0, "You said: and then?"), 0) // a reading that begins again
	if len(live.blocks) != 1 || live.blocks[0].Text != "You said: and then?" {
		t.Errorf("after another reading it is %+v", live.blocks)
	}
}

// A reading that begins again repeats the open blocks, in other pieces than before:
// readers are sent only what is new.
func TestLiveTextIsNotRepeated(t *testing.T) {
	t.Parallel()
	const whole = "ä😀 and so on"
	for again := range len(whole) + 1 {
		for cut := range len(whole) + 1 {
			var live liveText
			var reader seen
			live.take(piece("m", 0, whole[:again]), 0)
			live.news(&reader)
			live.take(piece("m", 0, whole[:cut]), 0)
			live.take(piece("m", 0, whole[cut:]), cut)
			if live.blocks[0].Text != whole {
				t.Fatalf("%d bytes, then again %d and the rest: %q", again, cut, live.blocks[0].Text)
			}
		}
	}
}

// A line that is late does not take away what is being written.
func TestLateLineKeepsLiveText(t *testing.T) {
	t.Parallel()
	var text liveText
	say := func(id, words string) {
		text.take(&message.StreamEvent{EventType: message.EventMessageStart, MessageID: id}, 0)
		text.take(&message.StreamEvent{EventType: message.EventBlockDelta, Delta: &message.Delta{Text: words}}, 0)
	}
	say("m1", "first")
	say("m2", "second")
	text.said([]byte(`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"first"}]}}`))
	if len(text.blocks) != 1 || text.blocks[0].Text != "second" || text.before() != "m1" {
		t.Errorf("%+v", text)
	}
	text.said([]byte(`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"second"}]}}`))
	if len(text.blocks) != 0 {
		t.Errorf("%+v", text)
	}
	text.said([]byte(`{"type":"assistant","message":{"id":"m3","content":[{"type":"text","text":"third"}]}}`))
	if text.message != "m3" {
		t.Errorf("%+v", text)
	}
}
