package message_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// Messages built in Go stand for what the other side of the protocol writes and
// what a user sends, so their bytes are fixed here.
func TestEncodeBuilt(t *testing.T) {
	full := message.NewUser(message.Text("hi"))
	full.UUID, full.SessionID, full.ParentToolUseID = "u", "s", "c"
	full.Priority, full.ShouldQuery = message.PriorityNow, new(false)
	full.Origin = &message.Origin{Kind: message.OriginHuman}
	full.IsReplay = true
	full.Timestamp = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))

	const usage = `"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}`
	tests := []struct {
		name string
		in   message.Message
		want string
	}{
		{"user", message.NewUser(message.Text("hi")), `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]},"parent_tool_use_id":null,"session_id":""}`},
		{"zero user", &message.User{}, `{"type":"user","message":{"role":"user","content":[]},"parent_tool_use_id":null,"session_id":""}`},
		{
			"full user", full,
			`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]},"parent_tool_use_id":"c","session_id":"s","uuid":"u","isReplay":true,"priority":"now","origin":{"kind":"human"},"shouldQuery":false,"timestamp":"2026-01-02T02:04:05.006Z"}`,
		},
		{
			"assistant", &message.Assistant{ID: "msg", Model: "m", Content: message.Content{message.Text("hi")}, Prompts: []string{"p", "q"}},
			`{"type":"assistant","user_message_uuids":["p","q"],"message":{"id":"msg","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":null,"stop_sequence":null,` + usage + `},"parent_tool_use_id":null,"user_message_uuid":"q"}`,
		},
		{
			"assistant delta", &message.Assistant{Delta: &message.Delta{Type: message.DeltaText, Text: "a"}},
			`{"type":"assistant","parent_tool_use_id":null,"delta":{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}}`,
		},
		{
			"result", &message.Result{},
			`{"type":"result","subtype":"success","is_error":false,"num_turns":0,"duration_ms":0,"duration_api_ms":0,"total_cost_usd":0,` + usage + `,"modelUsage":{},"permission_denials":[],"result":"","stop_reason":null}`,
		},
		{
			"failed result", &message.Result{Header: message.Header{Subtype: message.ResultErrorMaxTurns}, IsError: true, Errors: []string{"e"}, TerminalReason: message.EndMaxTurns},
			`{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["e"],"num_turns":0,"duration_ms":0,"duration_api_ms":0,"total_cost_usd":0,` + usage + `,"modelUsage":{},"permission_denials":[],"stop_reason":null}`,
		},
		{
			"delta", &message.StreamEvent{EventType: message.EventBlockDelta, Delta: &message.Delta{Type: message.DeltaText, Text: "a"}},
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}},"parent_tool_use_id":null}`,
		},
		{
			"block start", &message.StreamEvent{EventType: message.EventBlockStart, Index: 1, ContentBlock: message.Text("")},
			`{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}},"parent_tool_use_id":null}`,
		},
		{
			"message start", &message.StreamEvent{EventType: message.EventMessageStart, MessageID: "msg", Model: "m", Usage: &message.Usage{}},
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,` + usage + `}},"api_message_id":"msg","parent_tool_use_id":null}`,
		},
		{
			"given event", &message.StreamEvent{Event: json.RawMessage(`{"type":"ping"}`), EventType: message.EventMessageStop},
			`{"type":"stream_event","event":{"type":"ping"},"parent_tool_use_id":null}`,
		},
		{"status", &message.Status{}, `{"type":"system","subtype":"status","status":null}`},
		{"init", &message.Init{Cwd: "/repo"}, `{"type":"system","subtype":"init","cwd":"/repo","model":"","tools":[],"mcp_servers":[]}`},
		{"hook", &message.HookEvent{HookID: "h"}, `{"type":"system","subtype":"hook_response","hook_id":"h","hook_name":"","hook_event":""}`},
		{"hook started", &message.HookEvent{Header: message.Header{Subtype: message.HookStarted}}, `{"type":"system","subtype":"hook_started","hook_id":"","hook_name":"","hook_event":""}`},
		{"lifecycle", &message.CommandLifecycle{CommandUUID: "p", State: message.CommandQueued}, `{"type":"command_lifecycle","command_uuid":"p","state":"queued"}`},
		{"error", &message.Error{Message: "m"}, `{"type":"error","error":{"message":"m"}}`},
		{"system", &message.System{Header: message.Header{Subtype: "x", UUID: "u"}}, `{"type":"system","subtype":"x","uuid":"u"}`},
		{"unknown", &message.Unknown{Header: message.Header{Type: "x"}}, `{"type":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := *tt.in.Head()
			got, err := jsonx.Marshal(tt.in)
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
			if after := *tt.in.Head(); after.Type != before.Type || after.Subtype != before.Subtype {
				t.Errorf("encoding changed the header from %+v to %+v", before, after)
			}
			if got := encodeAs(t, tt.in); got != tt.want {
				t.Errorf("encoding/json: got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestEncodeNilBlock(t *testing.T) {
	for _, m := range []message.Message{message.NewUser(nil), &message.Assistant{Content: message.Content{nil}}} {
		if got, err := jsonx.Marshal(m); err == nil {
			t.Errorf("%T with a nil block was encoded as %s", m, got)
		}
	}
}

func TestReaders(t *testing.T) {
	a := &message.Assistant{Content: message.Content{message.Text("x"), &message.ToolUseBlock{ID: "1"}, &message.ThinkingBlock{Thinking: "t"}}}
	if a.Text() != "x" || a.Thinking() != "t" || len(a.ToolUses()) != 1 {
		t.Errorf("Text, Thinking, ToolUses = %q, %q, %v", a.Text(), a.Thinking(), a.ToolUses())
	}
	u := message.NewUser(message.Text("x"), &message.ToolResultBlock{ToolUseID: "1"})
	if u.Text() != "x" || len(u.ToolResults()) != 1 || u.Type != "user" {
		t.Errorf("Text, ToolResults, Type = %q, %v, %q", u.Text(), u.ToolResults(), u.Type)
	}
	for want, m := range map[string]*message.StreamEvent{
		"a": {Delta: &message.Delta{Type: message.DeltaText, Text: "a"}},
		"":  {Delta: &message.Delta{Type: message.DeltaThinking, Thinking: "a"}},
	} {
		if got := m.Text(); got != want {
			t.Errorf("Text of %+v = %q, want %q", m.Delta, got, want)
		}
	}
	if got := new(message.StreamEvent).Text(); got != "" {
		t.Errorf("Text without a delta = %q", got)
	}
}

func TestResultFailed(t *testing.T) {
	tests := []struct {
		line string
		want bool
	}{
		{`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed"}`, false},
		{`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":500}`, true},
		{`{"type":"result","subtype":"error_max_turns","is_error":true}`, true},
		{`{"type":"result","subtype":"error_max_turns","is_error":false}`, true},
		{`{"type":"result","subtype":"error_during_execution"}`, true},
		{`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"hook_stopped"}`, false},
	}
	for _, tt := range tests {
		if got := mustDecode(t, tt.line).(*message.Result).Failed(); got != tt.want {
			t.Errorf("Failed of %s = %v, want %v", tt.line, got, tt.want)
		}
	}
}

func TestTimestampThatIsNone(t *testing.T) {
	m := mustDecode(t, `{"type":"user","timestamp":"yesterday"}`).(*message.User)
	if !m.Timestamp.IsZero() {
		t.Errorf("Timestamp = %v, want zero", m.Timestamp)
	}
}
