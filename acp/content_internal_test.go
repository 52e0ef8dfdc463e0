package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// blob is a resource of a prompt in base64.
func blob(mediaType, data string) string {
	return `[{"type":"resource","resource":{"uri":"file:///a/f","mimeType":"` + mediaType + `","blob":"` + data + `"}},{"type":"text","text":"hi"}]`
}

// TestContent turns a prompt of an editor into what the model reads, or refuses what it
// cannot read.
func TestContent(t *testing.T) {
	const name = `[{"type":"text","text":"[@f](file:///a/f)"},`
	file := func(kind, mediaType string) string {
		return name + `{"type":"` + kind + `","source":{"type":"base64","media_type":"` + mediaType + `","data":"QUJD"}},{"type":"text","text":"hi"}]`
	}
	text := func(text string) string {
		return name + `{"type":"text","text":"hi"},{"type":"text","text":"\n<context ref=\"file:///a/f\">\n` + text + `\n</context>"}]`
	}
	for _, test := range []struct{ prompt, want string }{ // a list, or part of the error
		{`[{"type":"text","text":"hi"}]`, `[{"type":"text","text":"hi"}]`},
		{`[{"type":"text","text":"/mcp:s:greet Ada"}]`, `[{"type":"text","text":"/s:greet (MCP) Ada"}]`},
		{`[{"type":"image","mimeType":"image/png","data":"QUJD"}]`, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`},
		{`[{"type":"image","mimeType":"image/png","data":"QUJD","uri":"https://a.example/b.png"}]`, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`},
		{`[{"type":"image","mimeType":"image/png","data":"","uri":"https://a.example/b.png"}]`, `[{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}}]`},
		{`[{"type":"image","mimeType":"image/png","data":"","uri":"file:///b.png"}]`, "block 0 has neither data nor an address"},
		{`[{"type":"image","mimeType":"image/png","data":""}]`, "block 0 has neither data nor an address"},
		{`[{"type":"image","mimeType":"image/png","data":"no base64"}]`, "block 0 is not base64"},
		{`[{"type":"resource_link","uri":"file:///a/b.txt","name":"b.txt"}]`, `[{"type":"text","text":"[@b.txt](file:///a/b.txt)"}]`},
		{`[{"type":"resource_link","uri":"zed:///agent/thread","name":"t"}]`, `[{"type":"text","text":"[@thread](zed:///agent/thread)"}]`},
		{`[{"type":"resource_link","uri":"file:///a/","name":"a"}]`, `[{"type":"text","text":"[@file:///a/](file:///a/)"}]`},
		{`[{"type":"resource_link","uri":"https://a.example/b","name":"b"}]`, `[{"type":"text","text":"https://a.example/b"}]`},
		{`[{"type":"resource","resource":{"uri":"file:///a/f","text":"x"}},{"type":"text","text":"hi"}]`, text("x")},
		{`[{"type":"text","text":"hi"},{"type":"resource","resource":{"uri":"file:///a/f"}}]`, "block 1 has neither text nor a blob"},
		{blob("image/png", "QUJD"), file("image", "image/png")},
		{blob("image/jpg", "QUJD"), file("image", "image/jpeg")},
		{blob("application/pdf", "QUJD"), file("document", "application/pdf")},
		{blob("text/markdown", "QUJD"), text("ABC")},
		{blob("Text/Plain; Charset=UTF-8", "77u/QUJD"), text("ABC")},
		{blob("text/csv; charset=iso-8859-1", "5A=="), text("ä")},
		{blob("text/csv", "5A=="), text("�")},
		{blob("text/csv; charset=shift_jis", "QUJD"), `block 0 is in the charset "shift_jis"`},
		{blob("application/json", "QUJD"), text("ABC")},
		{blob("image/svg+xml", "QUJD"), text("ABC")},
		{blob("application/zip", "QUJD"), "block 0 is of type application/zip"},
		{blob("application/octet-stream", "QUJD"), "block 0 is of type application/octet-stream"},
		{blob("", "QUJD"), "block 0 does not say of which media type"},
		{blob("application/pdf", "no base64"), "block 0 is empty, or not base64"},
		{blob("image/png", ""), "block 0 is empty, or not base64"},
		{`[{"type":"audio","mimeType":"audio/wav","data":"AAAA"},{"type":"text","text":"hi"}]`, "audio"},
		{`[{"type":"smell"}]`, "unknown kind"},
		{`[]`, "empty"},
	} {
		var prompt []schema.ContentBlock
		if err := json.Unmarshal([]byte(test.prompt), &prompt); err != nil {
			t.Fatal(err)
		}
		blocks, err := contentOf(prompt)
		if !strings.HasPrefix(test.want, "[") {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.prompt, err, test.want)
			}
			continue
		}
		got, _ := jsonx.Marshal(message.Content(blocks))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", test.prompt, err, got, test.want)
		}
	}
}
