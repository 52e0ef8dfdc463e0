package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// said feeds lines of the CLI to a machine and returns the updates as JSON.
func said(t *testing.T, m *Machine, lines ...string) (out []string) {
	t.Helper()
	for _, line := range lines {
		msg, err := message.Decode([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, up := range m.Add(msg) {
			data, err := json.Marshal(up)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(data))
		}
	}
	return out
}

const (
	start   = `{"type":"stream_event","api_message_id":"m1","event":{"type":"message_start","message":{"id":"m1","model":"x","usage":{"input_tokens":10,"output_tokens":5}}}}`
	textOne = `{"type":"stream_event","api_message_id":"m1","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}}`
	whole   = `{"type":"assistant","uuid":"u","message":{"id":"m1","model":"x","content":[{"type":"text","text":"hi"}]}}`
	began   = `{"type":"stream_event","api_message_id":"m1","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}}`
	called  = `{"type":"assistant","message":{"id":"m1","model":"x","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}`
	failed  = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 2\nno","is_error":true}]}}`
	ended   = `{"type":"result","subtype":"success","total_cost_usd":0.5,"modelUsage":{"x":{"contextWindow":1000}}}`
)

// TestTurn shows a streamed answer once, a call in three steps, and the cost.
func TestTurn(t *testing.T) {
	m := &Machine{Shown: Shown{Cwd: "/p", Terminal: true}}
	got := said(t, m, start, textOne, whole, began, called, failed, ended)
	for i, want := range []string{
		`"sessionUpdate":"agent_message_chunk"`, `"sessionUpdate":"tool_call"`, `"title":"make"`,
		`"terminal_output":{"data":"Exit code 2\nno"`, `"exit_code":2`, `"amount":0.5`,
	} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("update %d of\n%s\nwant %s in it", i, strings.Join(got, "\n"), want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d updates, want 6: the text that was streamed is not repeated", len(got))
	}
	if len(m.calls) != 0 || len(m.streams) != 0 {
		t.Errorf("kept %d calls and %d answers after the turn", len(m.calls), len(m.streams))
	}
}

// TestUnstreamed shows what came without pieces, such as an error of the API, but not what
// the CLI writes for the model only.
func TestUnstreamed(t *testing.T) {
	got := said(t, new(Machine), `{"type":"assistant","uuid":"u","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`)
	if len(got) != 1 || !strings.Contains(got[0], `"messageId":"u"`) {
		t.Errorf("%q, want a text with the id of the line", got)
	}
	got = said(t, new(Machine), `{"type":"assistant","uuid":"u","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}`)
	if len(got) != 0 {
		t.Errorf("%q, want nothing of what stands in for an answer", got)
	}
}

// TestPlan shows to-dos as a plan and not as calls.
func TestPlan(t *testing.T) {
	got := said(t, new(Machine),
		`{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t","name":"TodoWrite","input":{"todos":[{"content":"A","status":"in_progress","activeForm":"Doing A"},{"content":"B","status":"pending"}]}}]}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`)
	if len(got) != 1 || !strings.Contains(got[0], `"sessionUpdate":"plan"`) || !strings.Contains(got[0], "Doing A") {
		t.Errorf("%q, want a plan", got)
	}
}

// TestPlanOfTasks shows the tasks as a plan when one is made, and whenever one changes. A
// call that failed changes nothing, and none of them is shown as a call.
func TestPlanOfTasks(t *testing.T) {
	m := new(Machine)
	for i, step := range []struct {
		tool, input, output string
		failed              bool
		want                string // the entries of the plan, "": none is shown
	}{
		{"TaskCreate", `{"subject":"Build","activeForm":"Building"}`, `{"task":{"id":"1","subject":"Build"}}`, false, `[{"content":"Build","priority":"medium","status":"pending"}]`},
		{"TaskCreate", `{"subject":"Lost"}`, `{}`, true, ""},
		{"TaskUpdate", `{"taskId":"1","status":"in_progress"}`, `{}`, false, `[{"content":"Building","priority":"medium","status":"in_progress"}]`},
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`, `{}`, false, `[{"content":"Build","priority":"medium","status":"completed"}]`},
		{"TaskUpdate", `{"taskId":"1","status":"deleted"}`, `{}`, false, `[]`},
	} {
		got := said(t, m,
			fmt.Sprintf(`{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t%d","name":%q,"input":%s}]}}`, i, step.tool, step.input),
			fmt.Sprintf(`{"type":"user","tool_use_result":%s,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"ok","is_error":%t}]}}`, step.output, i, step.failed))
		plan := ""
		for _, up := range got {
			if !strings.Contains(up, `"sessionUpdate":"plan"`) {
				t.Errorf("%s %s: shown %s", step.tool, step.input, up)
			}
			plan += string(jsonx.Member([]byte(up), "entries"))
		}
		if plan != step.want {
			t.Errorf("%s %s: the plan is %s, want %s", step.tool, step.input, plan, step.want)
		}
	}
}

// TestThoughts shows what the model thinks as thoughts: as it is written, and whole if it
// was not streamed, never twice, and that of a subagent not at all.
func TestThoughts(t *testing.T) {
	const (
		begins   = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","model":"x"}}}`
		piece    = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}}`
		thought  = `{"type":"assistant","message":{"id":"m1","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"}]}}`
		subagent = `{"type":"assistant","parent_tool_use_id":"t","message":{"id":"m2","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}}`
	)
	for name, c := range map[string]struct{ lines, want []string }{
		"streamed":      {[]string{begins, piece, piece, thought}, []string{"agent_thought_chunk", "agent_thought_chunk"}},
		"whole":         {[]string{thought}, []string{"agent_thought_chunk", "agent_message_chunk"}},
		"of a subagent": {[]string{subagent}, nil},
	} {
		got := said(t, new(Machine), c.lines...)
		if !slices.Equal(brief(got), c.want) {
			t.Errorf("%s: shown %q, want %q", name, got, c.want)
		}
		for _, up := range got {
			if strings.Contains(up, "thought") && (!strings.Contains(up, `"text":"hm"`) || !strings.Contains(up, `"messageId":"m1"`)) {
				t.Errorf("%s: shown %s", name, up)
			}
		}
	}
}

// TestDescribe names calls for people.
func TestDescribe(t *testing.T) {
	s := Shown{Cwd: "/p"}
	for _, test := range []struct {
		tool, input, title string
		kind               schema.ToolKind
		path               string
	}{
		{"Bash", `{"command":"make"}`, "make", "execute", ""},
		{"Read", `{"file_path":"/p/a.txt","offset":5}`, "Read a.txt", "read", "/p/a.txt"},
		{"Read", `{"file_path":"/etc/passwd"}`, "Read /etc/passwd", "read", "/etc/passwd"},
		{"Edit", `{"file_path":"/p/a.txt","old_string":"a","new_string":"b"}`, "Edit a.txt", "edit", "/p/a.txt"},
		{"Write", `{"file_path":"/p/b/c","content":"x"}`, "Write b/c", "edit", "/p/b/c"},
		{"Grep", `{"pattern":"x","path":"/p/b"}`, "grep `x` in b", "search", "/p/b"},
		{"WebFetch", `{"url":"http://h"}`, "Fetch http://h", "fetch", ""},
		{"Task", `{"description":"look","prompt":"say hi"}`, "look", "think", ""},
		{"ExitPlanMode", `{"plan":"# P"}`, "Approve Plan", "switch_mode", ""},
		{"mcp__a__b", `{}`, "mcp__a__b", "other", ""},
		{"Bash", `{"command":5}`, "Terminal", "execute", ""},
	} {
		c := s.Describe("t", test.tool, json.RawMessage(test.input))
		path := ""
		if len(c.Locations) > 0 {
			path = c.Locations[0].Path
		}
		if c.Title != test.title || c.Kind != test.kind || path != test.path {
			t.Errorf("%s %s: %q, %s, %q", test.tool, test.input, c.Title, c.Kind, path)
		}
	}
}

// TestHunks shows the lines around an edit.
func TestHunks(t *testing.T) {
	content, at := hunks(json.RawMessage(`{"filePath":"/a","structuredPatch":[{"newStart":3,"lines":[" one","-two","+zwei"," three","\\ No newline"]}]}`))
	if len(content) != 1 || *content[0].Diff.OldText != "one\ntwo\nthree" || content[0].Diff.NewText != "one\nzwei\nthree" || *at[0].Line != 3 {
		t.Errorf("%+v at %+v", content, at)
	}
}

// TestReplay shows prompts as they were written, and no texts of the CLI's own.
func TestReplay(t *testing.T) {
	var got []string
	m := new(Machine)
	for _, text := range []string{"hello", "<command-name>/hi</command-name><command-args>Bob</command-args>", "<local-command-stdout>x</local-command-stdout>",
		"[Request interrupted by user]", "[Request interrupted by user for tool use]", "[Request interrupted by user] was it?", "<command-name>/cut"} {
		for _, up := range m.Replay("id", message.NewUser(message.Text(text))) {
			got = append(got, up.UserMessageChunk.Content.Text.Text)
		}
	}
	if !slices.Equal(got, []string{"hello", "/hi Bob", "[Request interrupted by user] was it?", "/cut"}) {
		t.Errorf("%q", got)
	}
}

// TestReplayTold shows what a slash command has printed, a compaction, of which only the
// end is stored, and why a hook has blocked a prompt: as text, because a notice is about
// now.
func TestReplayTold(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{`{"type":"system","subtype":"local_command_output","content":"7k tokens","uuid":"1"}`, []string{"agent_message_chunk"}},
		{`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"},"uuid":"2"}`, []string{"tool_call in_progress", "tool_call_update completed", "tool_call_update"}},
		{`{"type":"system","subtype":"informational","content":"blocked by hook","level":"warning","uuid":"3"}`, []string{"agent_message_chunk"}},
	} {
		msg, err := message.Decode([]byte(c.line))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, up := range (&Machine{Notices: true}).Replay("id", msg) {
			data, err := json.Marshal(up)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(data))
		}
		if !slices.Equal(brief(got), c.want) {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

// TestFence keeps a text with a fence inside of its own.
func TestFence(t *testing.T) {
	if got := fenced("a\n```\nb\n"); got != "````\na\n```\nb\n````" {
		t.Errorf("%q", got)
	}
}
