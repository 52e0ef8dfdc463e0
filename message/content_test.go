package message_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

func unknown(typ, raw string) *message.UnknownBlock {
	return &message.UnknownBlock{Type: typ, Raw: json.RawMessage(raw)}
}

func TestContentDecode(t *testing.T) {
	tests := []struct {
		name, in string
		want     message.Content
	}{
		{"string", `"hi"`, message.Content{message.Text("hi")}},
		{"blanks", ` "hi"`, message.Content{message.Text("hi")}},
		{"empty string", `""`, message.Content{}},
		{"empty list", `[]`, message.Content{}},
		{"null", `null`, nil},
		{"text", `[{"type":"text","text":"a","citations":[1]}]`, message.Content{&message.TextBlock{Text: "a", Citations: json.RawMessage(`[1]`)}}},
		{"no citations", `[{"type":"text","text":"a","citations":null}]`, message.Content{message.Text("a")}},
		{"thinking", `[{"type":"thinking","thinking":"t","signature":"s"}]`, message.Content{&message.ThinkingBlock{Thinking: "t", Signature: "s"}}},
		{"redacted", `[{"data":"d","type":"redacted_thinking"}]`, message.Content{&message.RedactedThinkingBlock{Data: "d"}}},
		{"tool use", `[{"type":"tool_use","id":"c","name":"n","input":[1, 2]}]`, message.Content{&message.ToolUseBlock{ID: "c", Name: "n", Input: json.RawMessage(`[1, 2]`)}}},
		{"result string", `[{"type":"tool_result","tool_use_id":"c","content":"out"}]`, message.Content{&message.ToolResultBlock{ToolUseID: "c", Content: message.Content{message.Text("out")}, Plain: true}}},
		{"empty result string", `[{"type":"tool_result","tool_use_id":"c","content":""}]`, message.Content{&message.ToolResultBlock{ToolUseID: "c", Content: message.Content{}, Plain: true}}},
		{"server tool", `[{"type":"server_tool_use","id":"c","name":"n","input":{"a":1}}]`, message.Content{&message.ServerToolUseBlock{ID: "c", Name: "n", Input: json.RawMessage(`{"a":1}`)}}},
		{
			"server results", `[{"type":"web_search_tool_result","tool_use_id":"c","content":[{"type":"web_search_result","url":"u"}]},{"type":"web_fetch_tool_result","tool_use_id":"d","content":{"error_code":"e"}}]`,
			message.Content{
				&message.ServerToolResultBlock{Type: "web_search_tool_result", ToolUseID: "c", Content: json.RawMessage(`[{"type":"web_search_result","url":"u"}]`)},
				&message.ServerToolResultBlock{Type: "web_fetch_tool_result", ToolUseID: "d", Content: json.RawMessage(`{"error_code":"e"}`)},
			},
		},
		{"result without content", `[{"type":"tool_result","tool_use_id":"c","is_error":true}]`, message.Content{&message.ToolResultBlock{ToolUseID: "c", IsError: true}}},
		{
			"result with an unknown block", `[{"type":"tool_result","tool_use_id":"c","content":[{"type":"tool_reference","tool_name":"n"}]}]`,
			message.Content{&message.ToolResultBlock{ToolUseID: "c", Content: message.Content{unknown("tool_reference", `{"type":"tool_reference","tool_name":"n"}`)}}},
		},
		{"image", `[{"type":"image","source":{"type":"url","url":"u"}}]`, message.Content{&message.ImageBlock{Source: message.Source{Type: message.SourceURL, URL: "u"}}}},
		{
			"document", `[{"type":"document","source":{"type":"file","file_id":"f"},"title":"t","context":"c"}]`,
			message.Content{&message.DocumentBlock{Source: message.Source{Type: message.SourceFile, FileID: "f"}, Title: "t", Context: "c"}},
		},
		{
			"unknown among known", `[{"type":"text","text":"a"},{"type":"hologram","id":"x"},{"type":"text","text":"b"}]`,
			message.Content{message.Text("a"), unknown("hologram", `{"type":"hologram","id":"x"}`), message.Text("b")},
		},
		{"field of another kind", `[{"type":"text","text":7},{"type":"text","text":"b"}]`, message.Content{unknown("text", `{"type":"text","text":7}`), message.Text("b")}},
		{"type of another kind", `[{"type":7}]`, message.Content{unknown("", `{"type":7}`)}},
		{"no object", `["a",null]`, message.Content{unknown("", `"a"`), unknown("", `null`)}},
		// An unknown block may use a known name in its own way.
		{"unknown with a known name", `[{"type":"web_search_result","content":{"a":1}}]`, message.Content{unknown("web_search_result", `{"type":"web_search_result","content":{"a":1}}`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := message.Content{message.Text("old")}
			if err := jsonx.Unmarshal([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %s, want %s", dump(got), dump(tt.want))
			}
		})
	}
}

func TestContentRefuses(t *testing.T) {
	for _, in := range []string{`7`, `true`, `{}`, `{"type":"text","text":"a"}`} {
		var got message.Content
		if err := jsonx.Unmarshal([]byte(in), &got); !jsonx.Mismatch(err) || got != nil {
			t.Errorf("Unmarshal(%s) = %s, %v, want a mismatch", in, dump(got), err)
		}
	}
}

func TestContentEncode(t *testing.T) {
	tests := []struct {
		in   message.Content
		want string
	}{
		{nil, `[]`},
		{message.Content{message.Text("a <b>")}, `[{"type":"text","text":"a <b>"}]`},
		{message.Content{&message.TextBlock{Text: "a", Citations: json.RawMessage(`[]`)}}, `[{"type":"text","text":"a","citations":[]}]`},
		{message.Content{&message.ThinkingBlock{Thinking: "t"}}, `[{"type":"thinking","thinking":"t","signature":""}]`},
		{message.Content{&message.RedactedThinkingBlock{Data: "d"}}, `[{"type":"redacted_thinking","data":"d"}]`},
		{message.Content{&message.ToolUseBlock{ID: "c", Name: "n"}}, `[{"type":"tool_use","id":"c","name":"n","input":{}}]`},
		{message.Content{&message.ToolResultBlock{ToolUseID: "c", IsError: true}}, `[{"type":"tool_result","tool_use_id":"c","is_error":true}]`},
		{message.Content{&message.ToolResultBlock{ToolUseID: "c", Content: message.Content{message.Text("x")}}}, `[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"}]}]`},
		{message.Content{message.Image("image/png", []byte("png"))}, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]`},
		{message.Content{message.Document("application/pdf", []byte("pdf"))}, `[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}}]`},
		{message.Content{message.Document("text/plain", []byte("txt"))}, `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"txt"}}]`},
		{message.Content{unknown("x", `{"type":"x","a":"\ud83d"}`)}, `[{"type":"x","a":"\ud83d"}]`},
		{message.Content{unknown("x", ``)}, `[{"type":"x"}]`},
	}
	for _, tt := range tests {
		if got, err := jsonx.Marshal(tt.in); err != nil || string(got) != tt.want {
			t.Errorf("jsonx: got %s, %v, want %s", got, err, tt.want)
		}
		if got := encodeAs(t, tt.in); got != tt.want {
			t.Errorf("encoding/json: got %s, want %s", got, tt.want)
		}
	}
	if got, err := jsonx.Marshal(message.Content{message.Text("a"), nil}); err == nil {
		t.Errorf("a nil block was encoded as %s", got)
	}
}

func TestContentReaders(t *testing.T) {
	c := message.Content{
		&message.ThinkingBlock{Thinking: "th"},
		message.Text("a"),
		&message.ToolUseBlock{ID: "1"},
		&message.ThinkingBlock{Thinking: "ink"},
		message.Text("b"),
		&message.ToolUseBlock{ID: "2"},
		&message.ToolResultBlock{ToolUseID: "1"},
	}
	if got := c.Text(); got != "ab" {
		t.Errorf("Text = %q, want ab", got)
	}
	if got := c.Thinking(); got != "think" {
		t.Errorf("Thinking = %q, want think", got)
	}
	if got := c.ToolUses(); len(got) != 2 || got[0].ID != "1" || got[1].ID != "2" {
		t.Errorf("ToolUses = %s", dump(got))
	}
	if got := c.ToolResults(); len(got) != 1 || got[0].ToolUseID != "1" {
		t.Errorf("ToolResults = %s", dump(got))
	}
	var none message.Content
	if none.Text() != "" || none.ToolUses() != nil {
		t.Error("an empty content has text or tool calls")
	}
}

func TestBlockType(t *testing.T) {
	for want, b := range map[string]message.Block{
		"text": message.Text(""), "thinking": &message.ThinkingBlock{}, "redacted_thinking": &message.RedactedThinkingBlock{},
		"tool_use": &message.ToolUseBlock{}, "tool_result": &message.ToolResultBlock{}, "image": &message.ImageBlock{},
		"document": &message.DocumentBlock{}, "new": unknown("new", ""),
	} {
		if got := b.BlockType(); got != want {
			t.Errorf("%T.BlockType() = %q, want %q", b, got, want)
		}
	}
}

func TestSourceBytes(t *testing.T) {
	for _, b := range []message.Source{message.Image("image/png", []byte{0, 255}).Source, message.Document("text/plain", []byte{0, 255}).Source} {
		if got, err := b.Bytes(); err != nil || string(got) != "\x00\xff" {
			t.Errorf("Bytes of %+v = %q, %v", b, got, err)
		}
	}
	for _, s := range []message.Source{{Type: message.SourceURL, URL: "u"}, {Type: message.SourceBase64, Data: "*"}} {
		if got, err := s.Bytes(); err == nil {
			t.Errorf("Bytes of %+v = %q, want an error", s, got)
		}
	}
}

// Appending to the content of one message does not show in another.
func TestContentIsOwn(t *testing.T) {
	m := mustDecode(t, `{"type":"assistant","message":{"content":[{"type":"text","text":"a"}]}}`).(*message.Assistant)
	one := append(m.Content, message.Text("b"))
	two := append(m.Content, message.Text("c"))
	if one.Text() != "ab" || two.Text() != "ac" {
		t.Errorf("%q and %q", one.Text(), two.Text())
	}
}
