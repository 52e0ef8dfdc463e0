package translate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// brief names updates: their kind and, of some, their status.
func brief(updates []string) (out []string) {
	for _, u := range updates {
		_, kind, _ := strings.Cut(u, `"sessionUpdate":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		if _, status, ok := strings.Cut(u, `"status":"`); ok {
			status, _, _ = strings.Cut(status, `"`)
			kind += " " + status
		}
		out = append(out, kind)
	}
	return out
}

// TestNotices shows what the CLI wants people to know to editors that have a place
// for it. The others read what may end a turn as text, and nothing of the rest.
func TestNotices(t *testing.T) {
	for _, test := range []struct {
		line   string
		notice []string // in the notice
		text   string   // as a text; "": not shown
	}{
		{`{"type":"system","subtype":"informational","content":"a hint","level":"info"}`, []string{`"title":"a hint"`, `"severity":"info"`}, "a hint"},
		{`{"type":"system","subtype":"informational","content":"a note","level":"notice"}`, []string{`"title":"a note"`, `"severity":"info"`}, "**Notice:** a note"},
		{`{"type":"system","subtype":"informational","content":"blocked by hook","level":"warning","prevent_continuation":true,"uuid":"u1"}`,
			[]string{`"title":"blocked by hook"`, `"severity":"warning"`}, "**Warning:** blocked by hook"},
		{`{"type":"system","subtype":"informational","content":"","level":"warning"}`, nil, ""},
		{`{"type":"system","subtype":"notification","text":"done"}`, []string{`"title":"done"`}, ""},
		{`{"type":"system","subtype":"model_refusal_fallback","original_model":"a","fallback_model":"b","content":"b answers"}`, []string{`"title":"b answers"`, `"severity":"warning"`}, "**Model fallback:** b answers"},
		{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"error_status":529,"error":"overloaded"}`, []string{"tried again", `"severity":"warning"`}, ""},
	} {
		got := strings.Join(said(t, &Machine{Notices: true}, test.line), "\n")
		for _, want := range test.notice {
			if !strings.Contains(got, `"sessionUpdate":"notice"`) || !strings.Contains(got, want) {
				t.Errorf("%s: shown %s, want a notice with %s", test.line, got, want)
			}
		}
		if test.notice == nil && got != "" {
			t.Errorf("%s: shown %s, want nothing", test.line, got)
		}
		text := ""
		for _, up := range said(t, new(Machine), test.line) {
			if !strings.Contains(up, `"sessionUpdate":"agent_message_chunk"`) || strings.Contains(test.line, "u1") && !strings.Contains(up, `"messageId":"u1"`) {
				t.Errorf("%s: shown %s to an editor without notices", test.line, up)
			}
			text += jsonx.Text(jsonx.Member(jsonx.Member([]byte(up), "content"), "text"))
		}
		if text != test.text {
			t.Errorf("%s: said %q to an editor without notices, want %q", test.line, text, test.text)
		}
	}
}

// TestCompaction shows a compaction as such, or as a call if the editor does not
// know them.
func TestCompaction(t *testing.T) {
	const (
		begun  = `{"type":"system","subtype":"status","status":"compacting","uuid":"c1"}`
		ended  = `{"type":"system","subtype":"status","status":null,"compact_result":"success","uuid":"c2"}`
		bare   = `{"type":"system","subtype":"status","status":null,"uuid":"c2"}`
		over   = `{"type":"result","subtype":"success"}`
		moved  = `{"type":"system","subtype":"status","status":null,"permissionMode":"plan","uuid":"c2"}`
		asks   = `{"type":"system","subtype":"status","status":"requesting","uuid":"c2"}`
		failed = `{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"too short","uuid":"c2"}`
		cut    = `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":100,"post_tokens":10}}`
	)
	for _, test := range []struct {
		name  string
		m     *Machine
		lines []string
		want  []string
	}{
		{"as such", &Machine{Compaction: true, Window: 1000}, []string{begun, begun, ended, cut}, []string{"compaction_update in_progress", "compaction_update completed", "usage_update"}},
		{"failed", &Machine{Compaction: true}, []string{begun, failed}, []string{"compaction_update in_progress", "compaction_update failed"}},
		{"as a call", &Machine{Window: 1000}, []string{begun, ended, cut}, []string{"tool_call in_progress", "tool_call_update completed", "tool_call_update", "usage_update"}},
		{"given up", &Machine{Compaction: true}, []string{begun, moved, asks, bare, bare, begun, failed}, []string{"compaction_update in_progress", "compaction_update failed", "compaction_update in_progress", "compaction_update failed"}},
		{"a call that was given up", new(Machine), []string{bare, begun, bare}, []string{"tool_call in_progress", "tool_call_update failed"}},
		{"cut off", new(Machine), []string{begun, over, over, begun}, []string{"tool_call in_progress", "tool_call_update failed", "tool_call in_progress"}},
		{"without its boundary", new(Machine), []string{begun, ended, over, begun}, []string{"tool_call in_progress", "tool_call_update completed", "tool_call in_progress"}},
		{"whole before its boundary", &Machine{Window: 1000}, []string{begun, ended, bare, cut}, []string{"tool_call in_progress", "tool_call_update completed", "tool_call_update", "usage_update"}},
		{"a call that failed", new(Machine), []string{begun, failed}, []string{"tool_call in_progress", "tool_call_update failed"}},
	} {
		got := said(t, test.m, test.lines...)
		if !slices.Equal(brief(got), test.want) {
			t.Errorf("%s: %q, want %q", test.name, brief(got), test.want)
		}
		if strings.Contains(test.name, "failed") && !strings.Contains(got[len(got)-1], "too short") {
			t.Errorf("%s: %s lacks the reason", test.name, got[len(got)-1])
		}
	}
}

// TestSummary shows what a compaction has left, once and after its end, in an editor that
// shows compactions, and nothing of the words that are for the model.
func TestSummary(t *testing.T) {
	const (
		begun  = `{"type":"system","subtype":"status","status":"compacting","uuid":"c1"}`
		ended  = `{"type":"system","subtype":"status","status":null,"compact_result":"success","uuid":"c2"}`
		cut    = `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual"}}`
		begins = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n<tools>\nRead\n</tools>\n"
	)
	left := func(text string) string {
		line, err := json.Marshal(map[string]any{"type": "user", "isSynthetic": true, "uuid": "u", "message": map[string]string{"role": "user", "content": text}})
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for _, test := range []struct {
		name, text, want string
	}{
		{"bare", begins + "Summary:\nThey said hello.", "They said hello."},
		{"of lines", begins + "Summary:\n1. Hello.\n\n2. Summary:\nmore", "1. Hello.\n\n2. Summary:\nmore"},
		{"with a transcript", begins + "Summary:\nHello.\n\nIf you need specific details from before compaction (like exact code snippets), read the full transcript at: /a.jsonl", "Hello."},
		{"with what follows", begins + "Summary:\nHello.\n\nNote: part of the earlier conversation was too large to include.\nContinue the conversation from where it left off without asking.", "Hello."},
		{"with messages", begins + "Summary:\nHello.\n\nThe messages after this summary are the most recent messages from before compaction, kept verbatim.", "Hello."},
		{"without its line", begins + "Hello.", ""},
		{"empty", begins + "Summary:\n", ""},
		{"other words", "Hello.\nSummary:\nHello.", ""},
	} {
		got := ""
		for _, line := range said(t, &Machine{Compaction: true}, begun, ended, cut, left(test.text), left(test.text)) {
			var up struct {
				CompactionID, Status string
				Summary              []struct{ Text string }
			}
			if err := json.Unmarshal([]byte(line), &up); err != nil {
				t.Fatal(err)
			}
			for _, block := range up.Summary {
				got += block.Text + up.CompactionID + up.Status
			}
		}
		if test.want != "" {
			test.want += "c1completed"
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	text := left(begins + "Summary:\nHello.")
	for name, lines := range map[string][]string{"as a call": {begun, ended, cut, text}, "without a compaction": {text}, "before its boundary": {begun, ended, text}} {
		for _, line := range said(t, &Machine{Compaction: name != "as a call"}, lines...) {
			if strings.Contains(line, "Hello") {
				t.Errorf("%s: shown %s", name, line)
			}
		}
	}
}

// TestSessionNews shows commands that have changed, a title, and MCP servers that
// failed, each once.
func TestSessionNews(t *testing.T) {
	m := new(Machine)
	const failed = `{"type":"system","subtype":"init","mcp_servers":[{"name":"dead","status":"failed"},{"name":"fine","status":"connected"}]}`
	got := said(t, m, failed, failed)
	if len(got) != 1 || !strings.Contains(got[0], `"server":"dead"`) {
		t.Errorf("%q, want the server that failed, once", got)
	}
	if got := m.Add(&message.SessionTitle{Title: "Build"}); len(got) != 1 || *got[0].SessionInfoUpdate.Title != "Build" {
		t.Errorf("%+v, want the title", got)
	}
	got2 := m.Add(&message.CommandsChanged{Commands: []control.Command{{Name: "hi", Description: "Say hi", ArgumentHint: "name"}, {Name: "bye"}}})
	if len(got2) != 1 {
		t.Fatalf("%+v, want the commands", got2)
	}
	if list := got2[0].AvailableCommandsUpdate.AvailableCommands; len(list) != 2 || *list[0].Input.Hint != "name" || list[1].Input != nil {
		t.Errorf("commands %+v", list)
	}
}

// TestUsage reports how full the context is once the size is known, and the cost
// at the end of a turn.
func TestUsage(t *testing.T) {
	m := new(Machine)
	first := said(t, m, start, textOne, whole, ended)
	if want := []string{"agent_message_chunk", "usage_update"}; !slices.Equal(brief(first), want) {
		t.Errorf("first turn %q, want %q", brief(first), want)
	}
	second := said(t, m, start, textOne, whole, ended)
	if want := []string{"usage_update", "agent_message_chunk", "usage_update"}; !slices.Equal(brief(second), want) {
		t.Errorf("second turn %q, want %q", brief(second), want)
	}
	for want, update := range map[string]string{`"used":15`: second[0], `"size":1000`: second[0], `"kind":"human"`: second[2], `"currency":"USD"`: second[2]} {
		if !strings.Contains(update, want) {
			t.Errorf("%s lacks %s", update, want)
		}
	}
}
