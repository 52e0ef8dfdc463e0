package serve

import (
	"strings"
	"testing"

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
	live.take(piece("m", 0, "ä😀"))
	if news := live.news(&reader); len(news) != 1 || news[0].Type != api.EventPartial || news[0].Partial[0].Text != "ä😀" {
		t.Errorf("%+v", news)
	}
	live.said([]byte(`{"type":"user","message":{"content":"the prompt, stored late"}}`))
	live.take(piece("m", 0, "b"))
	live.take(piece("m", 0, "c"))
	live.take(piece("m", 1, "second"))
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
	live.take(piece("m", 1, " more"))
	if live.take(piece("m", 0, "late")) {
		t.Error("a block that the transcript has is live")
	}
	if news := live.news(&late); len(news) != 1 || *news[0].Delta != (api.Delta{Message: "m", Block: 1, Kind: "text", Offset: 6, Text: " more"}) {
		t.Errorf("%+v", news)
	}
	live.take(piece("n", 0, "next"))
	if news := live.news(&late); len(news) != 1 || news[0].Type != api.EventPartial || len(news[0].Partial) != 1 || news[0].Partial[0].Message != "n" {
		t.Errorf("%+v", news)
	}
	child := piece("x", 0, "of a subagent")
	child.ParentToolUseID = "toolu_1"
	if live.take(child) || len(live.blocks) != 1 {
		t.Errorf("%+v", live)
	}
}

// The ids of conversations in addresses can be read back, whatever their keys are.
func TestIDs(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "a/b", "a~b", "a~/b", "a/b~", "a~~/b~~c", "ada@x.org/7f"} {
		id := idOf(key)
		if strings.Contains(id, "/") || keyOf(id) != key {
			t.Errorf("%s becomes %s becomes %s", key, id, keyOf(id))
		}
	}
	if key := keyOf("a/b"); key != "" {
		t.Errorf("an id with a slash is the key %s", key)
	}
}
