package claudetest_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

// callFor sends one body to a model and returns what it recorded.
func callFor(t *testing.T, body string) *claudetest.ModelCall {
	t.Helper()
	m := claudetest.NewModel()
	say(t, start(t, m), body)
	calls := m.Calls()
	if len(calls) != 1 {
		t.Fatalf("%d calls, want 1", len(calls))
	}
	return calls[0]
}

func TestCallFields(t *testing.T) {
	in := body(true, "  what is 2+2? ")
	c := callFor(t, in)
	if c.Number != 1 || c.Side || !c.Stream || c.Model != "claude-test-1" || c.System != "Be brief." {
		t.Errorf("got %+v", c)
	}
	if want := "what is 2+2?"; c.Prompt != want {
		t.Errorf("prompt = %q, want %q", c.Prompt, want)
	}
	if want := []string{"Read", "Bash"}; !slices.Equal(c.Tools, want) {
		t.Errorf("tools = %q, want %q", c.Tools, want)
	}
	if len(c.Messages) != 2 || c.Messages[1].Role != "system" || c.Messages[1].Text != "The environment." {
		t.Errorf("messages = %+v", c.Messages)
	}
	if string(c.Raw) != in || c.Header.Get("Content-Length") == "" && c.Header.Get("User-Agent") == "" {
		t.Errorf("raw = %s, header = %v", c.Raw, c.Header)
	}
}

func TestCallConversation(t *testing.T) {
	const conversation = `{"model":"m","stream":true,"tools":[{"name":"Read"}],"messages":[
		{"role":"user","content":"first"},
		{"role":"assistant","content":[{"type":"tool_use","id":"t0","name":"Read","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"old"}]},
		{"role":"assistant","content":[{"type":"text","text":"done"}]},
		{"role":"user","content":[{"type":"text","text":"sec"},{"type":"image"},{"type":"text","text":"ond<system-reminder>x</system-reminder>"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"t1","content":"one\ntwo"},
			{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"denied"}]},
			{"type":"text","text":"<system-reminder>do not forget</system-reminder>"}]},
		{"role":"system","content":"reminder"}]}`
	c := callFor(t, conversation)
	if c.Prompt != "sec\nond" {
		t.Errorf("prompt = %q, want what the user said last", c.Prompt)
	}
	for i := range c.ToolResults {
		c.ToolResults[i].Content = nil
	}
	want := []claudetest.ToolResult{
		{ToolUseID: "t1", Text: "one\ntwo"},
		{ToolUseID: "t2", Text: "denied", IsError: true},
	}
	if !reflect.DeepEqual(c.ToolResults, want) {
		t.Errorf("tool results = %+v, want %+v", c.ToolResults, want)
	}
}

func TestCallOfAnotherShape(t *testing.T) {
	c := callFor(t, `{"model":7,"stream":true,"system":"plain","messages":[{"role":"user","content":"hi"}],"tools":[{"name":"A","x":1}]}`)
	if c.System != "plain" || c.Prompt != "hi" || c.Model != "" || !slices.Equal(c.Tools, []string{"A"}) {
		t.Errorf("got %+v, want all but the model", c)
	}
}

func TestSideCalls(t *testing.T) {
	const user = `"stream":true,"messages":[{"role":"user","content":"hi"}]`
	tests := []struct {
		name, body string
		side       bool
	}{
		{"conversation", `{"model":"claude-opus-1","tools":[{"name":"A"}],` + user + `}`, false},
		{"conversation on a small model", `{"model":"claude-haiku-1","tools":[{"name":"A"}],` + user + `}`, false},
		{"without tools", `{"model":"claude-opus-1","tools":[],` + user + `}`, false},
		{"small, without tools, thinking", `{"model":"claude-haiku-1","thinking":{"type":"adaptive"},` + user + `}`, false},
		{"small, without tools, managed", `{"model":"claude-haiku-1","context_management":{},` + user + `}`, false},
		{"with tools and an answer by schema", `{"model":"m","tools":[{"name":"A"}],"output_config":{"format":{}},` + user + `}`, false},
		{"with an effort", `{"model":"m","output_config":{"effort":"low"},` + user + `}`, false},
		{"answer by schema", `{"model":"claude-opus-1","output_config":{"format":{"type":"json_schema"}},` + user + `}`, true},
		{"small, without tools", `{"model":"claude-haiku-1","tools":[],` + user + `}`, true},
		{"warm-up", `{"model":"m","tools":[{"name":"A"}],"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"Warmup"}]}]}`, true},
		{"warm-up with a reminder", `{"model":"m","tools":[{"name":"A"}],"stream":true,"messages":[{"role":"user","content":"<system-reminder>a</system-reminder>\nWarmup"}]}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := claudetest.NewModel(claudetest.Say("from the script"))
			m.HandleSide(func(c *claudetest.ModelCall) claudetest.Reply { return claudetest.Say("aside") })
			got := say(t, start(t, m), tt.body)
			want, number := "from the script", 1
			if tt.side {
				want, number = "aside", 0
			}
			if c := m.Calls()[0]; got != want || c.Side != tt.side || c.Number != number {
				t.Errorf("said %q as call %d, side %v; want %q, %d, %v", got, c.Number, c.Side, want, number, tt.side)
			}
		})
	}
	t.Run("default", func(t *testing.T) {
		m := claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("main") })
		if got := say(t, start(t, m), tests[len(tests)-1].body); got != claudetest.DefaultText {
			t.Errorf("said %q, want the default text", got)
		}
	})
}
