package acp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// FuzzPiece compares the short way of encoding a piece of text with the long one.
func FuzzPiece(f *testing.F) {
	for _, text := range []string{"", "plain", "quotes \" and \\ and /", "a line\nanother\r\n\t", "Grüße, 世界 🙂", "<b>&amp;\u2028", "\xff half \xf0\x9f", "\x00\x1f\x7f", strings.Repeat("long ", 1000)} {
		f.Add("session", text, "msg_1", true)
		f.Add(text, "x", text, false)
	}
	f.Fuzz(func(t *testing.T, id, text, message string, thought bool) {
		up := schema.SessionUpdate{AgentMessageChunk: &schema.ContentChunk{Content: translate.TextBlock(text), MessageID: schema.MessageID(message)}}
		if thought {
			up = schema.SessionUpdate{AgentThoughtChunk: up.AgentMessageChunk}
		}
		params := notification(schema.SessionID(id), up)
		if _, short := params.(json.RawMessage); short != utf8.ValidString(id+"\n"+text+"\n"+message) {
			t.Errorf("encoded the short way: %t", short)
		}
		got, err1 := jsonx.Marshal(params)
		want, err2 := jsonx.Marshal(schema.SessionNotification{SessionID: schema.SessionID(id), Update: up})
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("encoded as\n%s, %v\nwant\n%s, %v", got, err1, want, err2)
		}
	})
}

// TestPieceWithMore leaves what is more than a piece of text to its type.
func TestPieceWithMore(t *testing.T) {
	text, extra := translate.TextBlock("x"), map[string]json.RawMessage{"more": json.RawMessage("1")}
	for name, up := range map[string]schema.SessionUpdate{
		"nothing":             {},
		"a call":              {ToolCall: &schema.ToolCall{}},
		"a prompt":            {UserMessageChunk: &schema.ContentChunk{Content: text}},
		"meta":                {AgentMessageChunk: &schema.ContentChunk{Content: text, Meta: map[string]any{"a": 1}}},
		"more":                {AgentMessageChunk: &schema.ContentChunk{Content: text, Extra: extra}},
		"an image":            {AgentMessageChunk: &schema.ContentChunk{Content: schema.ContentBlock{Image: &schema.ImageContent{}}}},
		"meta of the text":    {AgentThoughtChunk: &schema.ContentChunk{Content: schema.ContentBlock{Text: &schema.TextContent{Meta: map[string]any{"a": 1}}}}},
		"notes of the text":   {AgentThoughtChunk: &schema.ContentChunk{Content: schema.ContentBlock{Text: &schema.TextContent{Annotations: &schema.Annotations{}}}}},
		"more of the text":    {AgentThoughtChunk: &schema.ContentChunk{Content: schema.ContentBlock{Text: &schema.TextContent{Extra: extra}}}},
		"a prompt and a text": {UserMessageChunk: &schema.ContentChunk{Content: text}, AgentMessageChunk: &schema.ContentChunk{Content: text}},
	} {
		if _, ok := notification("s", up).(schema.SessionNotification); !ok {
			t.Errorf("%s is encoded as a piece of text", name)
		}
	}
}

// BenchmarkPiece is the encoding of a piece of text, the long way and the short one.
func BenchmarkPiece(b *testing.B) {
	up := schema.SessionUpdate{AgentMessageChunk: &schema.ContentChunk{Content: translate.TextBlock("a few words of it "), MessageID: "msg_01"}}
	const id = "11111111-2222-4333-8444-555555555555"
	b.Run("long", func(b *testing.B) {
		for b.Loop() {
			_, _ = jsonx.Marshal(schema.SessionNotification{SessionID: id, Update: up})
		}
	})
	b.Run("short", func(b *testing.B) {
		for b.Loop() {
			_, _ = jsonx.Marshal(notification(id, up))
		}
	})
}
