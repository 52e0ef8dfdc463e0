package claudetest_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

func TestParseReplies(t *testing.T) {
	replies, err := claudetest.ParseReplies([]byte(`[
		"a text",
		{"think":"hmm","say":"calling","use":[
			{"name":"Read","input":{"file_path":"/repo/a"},"id":"toolu_x"},
			{"name":"Bash","raw":"{cut"},
			{"name":"None"}],
		 "stop_reason":"pause_turn","usage":{"input_tokens":3,"output_tokens":4},"after_ms":1,"chunk_size":100,"chunk_ms":1},
		{"say":"abcd","chunk_size":2,"cut_with":{"type":"api_error","message":"gone"}},
		{"fail":{"status":529,"type":"overloaded_error","message":"later"},"header":{"retry-after":"3"}},
		{"say":"abcd","chunk_size":2,"cut":true},
		{"say":"abcd","hold":true,"forever":true}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	m := claudetest.NewModel(replies...)
	url := start(t, m)
	want := []string{`message_start
content_block_start 0 text
content_block_delta 0 text_delta a text
content_block_stop 0
message_delta end_turn
message_stop`, `message_start
content_block_start 0 thinking
content_block_delta 0 thinking_delta hmm
content_block_delta 0 signature_delta c2lnbmVk
content_block_stop 0
content_block_start 1 text
content_block_delta 1 text_delta calling
content_block_stop 1
content_block_start 2 tool_use Read
content_block_delta 2 input_json_delta {"file_path":"/repo/a"}
content_block_stop 2
content_block_start 3 tool_use Bash
content_block_delta 3 input_json_delta {cut
content_block_stop 3
content_block_start 4 tool_use None
content_block_delta 4 input_json_delta {}
content_block_stop 4
message_delta pause_turn
message_stop`, `message_start
content_block_start 0 text
content_block_delta 0 text_delta ab
error api_error: gone`}
	for i, want := range want {
		all, err := events(post(t.Context(), t, url+"/v1/messages", body(true, "hi")))
		if err != nil {
			t.Error(err)
		}
		if got := outline(all); got != want {
			t.Errorf("reply %d:\n%s\nwant:\n%s", i+1, got, want)
		}
		if i == 1 && (all[len(all)-2].Usage != claudetest.ReplyUsage{InputTokens: 3, OutputTokens: 4}) {
			t.Errorf("usage = %+v", all[len(all)-2].Usage)
		}
	}
	if resp := post(t.Context(), t, url+"/v1/messages", body(true, "hi")); resp.StatusCode != 529 || resp.Header.Get("Retry-After") != "3" {
		t.Errorf("status %d, header %v", resp.StatusCode, resp.Header)
	}
	if all, err := events(post(t.Context(), t, url+"/v1/messages", body(true, "hi"))); err == nil {
		t.Errorf("cut reply came whole: %s", outline(all))
	}
	if got := m.Unused(); got != 1 {
		t.Errorf("%d replies unused, want the held one", got)
	}
}

func TestParseRepliesErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no JSON", `hello`, "script: "},
		{"no list", `{"say":"x"}`, "script: want a list of replies"},
		{"no reply", `["a", 7]`, "reply 2: want an object"},
		{"null", `[null]`, "reply 1: want "},
		{"misspelt", `["a", {"said":"x"}]`, "reply 2: said: no such field"},
		{"kind of a text", `[{"say":7}]`, "reply 1: say: want a text"},
		{"kind of a number", `[{"after_ms":"7"}]`, "reply 1: after_ms: want a whole number"},
		{"kind of a switch", `[{"cut":"yes"}]`, "reply 1: cut: want true or false"},
		{"kind of a list", `[{"use":{"name":"Read"}}]`, "reply 1: use: want a list"},
		{"kind of a header", `[{"header":{"a":1}}]`, "reply 1: header: want an object of texts"},
		{"null field", `[{"say":null}]`, "reply 1: say: want a text"},
		{"tool without a name", `["a","b",{"use":[{"name":"A"},{"input":{}}]}]`, "reply 3: use[1].name: missing"},
		{"tool of another kind", `[{"use":["Read"]}]`, "reply 1: use[0]: want an object"},
		{"misspelt in a tool", `[{"use":[{"name":"A","inputs":{}}]}]`, "reply 1: use[0].inputs: no such field"},
		{"two inputs", `[{"use":[{"name":"A","input":{},"raw":"{}"}]}]`, "reply 1: use[0].raw: input is also given"},
		{"misspelt in usage", `[{"usage":{"tokens":1}}]`, "reply 1: usage.tokens: no such field"},
		{"failure without status", `[{"fail":{"type":"x"}}]`, "reply 1: fail.status: missing"},
		{"failure without type", `[{"fail":{"status":500}}]`, "reply 1: fail.type: missing"},
		{"failure with a status of success", `[{"fail":{"status":200,"type":"x"}}]`, "reply 1: fail.status: want 400 to 599, not 200"},
		{"failure with content", `[{"say":"x","fail":{"status":500,"type":"x"}}]`, "reply 1: fail: a failing reply has no content"},
		{"error event without type", `[{"cut_with":{}}]`, "reply 1: cut_with.type: missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := claudetest.ParseReplies([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "claudetest: ") {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if replies, err := claudetest.ParseReplies([]byte(`[]`)); err != nil || len(replies) != 0 {
		t.Errorf("empty script: %v, %v", replies, err)
	}
}
