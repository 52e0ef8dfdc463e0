package hook_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// hooks is one hook of every event.
func hooks() map[hook.Event]hook.Hook {
	all := make(map[hook.Event]hook.Hook)
	for _, tt := range eventTests() {
		all[tt.hook.Event] = tt.hook
	}
	return all
}

// inputOf returns the input that the function of a hook gets.
func inputOf(t *testing.T, h hook.Hook, input string) (got any) {
	t.Helper()
	ctx := context.WithValue(t.Context(), inputKey{}, &got)
	if _, err := h.Func(ctx, json.RawMessage(input), "toolu_1"); err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	return got
}

// Each line of the fixture is an input with every member the event has. What a
// type leaves out would be missing when the input is encoded again.
func TestInputs(t *testing.T) {
	data, err := os.ReadFile("testdata/inputs.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	hooks := hooks()
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		var head struct {
			Event hook.Event `json:"hook_event_name"`
		}
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		t.Run(string(head.Event), func(t *testing.T) {
			in := inputOf(t, hooks[head.Event], line)
			delete(hooks, head.Event)
			encoded, err := jsonx.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(encoded, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatal(err)
			}
			if head.Event == hook.EventPermissionRequest {
				want["tool_use_id"] = "toolu_1"
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", encoded, line)
			}
		})
	}
	for event := range hooks {
		t.Errorf("no fixture for %s", event)
	}
}

// A CLI may write null for what it leaves out elsewhere. Every member of every
// input may be null, and then counts as missing; one that is kept as raw JSON
// keeps the null.
func TestNullMembers(t *testing.T) {
	data, err := os.ReadFile("testdata/inputs.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	hooks := hooks()
	for line := range strings.Lines(string(data)) {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatal(err)
		}
		event := hook.Event(members["hook_event_name"].(string))
		t.Run(string(event), func(t *testing.T) {
			for name := range members {
				members[name] = nil
			}
			members["hook_event_name"] = event
			nulls, _ := json.Marshal(members)
			got := inputOf(t, hooks[event], string(nulls))
			want := inputOf(t, hooks[event], `{"hook_event_name":"`+string(event)+`"}`)
			first, _ := jsonx.Marshal(got)
			first = regexp.MustCompile(`,"(requested_schema|content)":null`).ReplaceAll(first, nil)
			second, _ := jsonx.Marshal(want)
			if string(first) != string(second) {
				t.Errorf("with nulls    %s\nwithout them  %s", first, second)
			}
		})
	}
}

func TestInputIsTolerant(t *testing.T) {
	var got *hook.PreToolUseInput
	h := hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		got = in
		return nil, nil
	})
	in := `{"session_id":7,"cwd":"/repo","effort":"high","tool_name":"Bash","tool_input":{"command":"\ud83d","n":1e400},"mcp_server":[],"tool_use_id":"t","new":1}`
	if reply, err := call(t, h, in, "t"); err != nil || reply != `{}` {
		t.Fatalf("got %s, %v, want {}", reply, err)
	}
	if got.Cwd != "/repo" || got.ToolName != "Bash" || got.ToolUseID != "t" || got.SessionID != "" {
		t.Errorf("got %+v, want the fields that fit", got)
	}
	if want := `{"command":"\ud83d","n":1e400}`; string(got.ToolInput) != want {
		t.Errorf("tool input = %s, want %s", got.ToolInput, want)
	}
	if string(got.Raw) != in {
		t.Errorf("Raw = %s", got.Raw)
	}
	var v struct {
		Command int `json:"command"`
	}
	if err := got.DecodeInput(&v); err == nil || !strings.Contains(err.Error(), "Bash") {
		t.Errorf("DecodeInput: error = %v, want one that names the tool", err)
	}
}

// However an input is read, the hook has all of it.
func TestInputKeepsRaw(t *testing.T) {
	for _, input := range []string{
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"mcp__x__add","tool_input":{},"mcp_server":{"name":"x"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":7,"tool_input":{}}`,
	} {
		in, ok := inputOf(t, hooks()[hook.EventPreToolUse], input).(*hook.PreToolUseInput)
		if !ok || string(in.Raw) != input {
			t.Errorf("%s: %+v", input, in)
		}
	}
}
