package message_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// say decodes lines, which must be sound.
func say(t *testing.T, lines ...string) (all []message.Message) {
	t.Helper()
	for _, line := range lines {
		m, err := message.Decode([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func use(id, name, input, parent string) string {
	return fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":%s,"message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`, parent, id, name, input)
}

func outcome(id, text, output string, failed bool) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q,"is_error":%v}]},"tool_use_result":%s}`, id, text, failed, output)
}

func TestToolCalls(t *testing.T) {
	var calls message.ToolCalls
	touched := 0
	for _, m := range say(t,
		use("a", "Read", `{"file_path":"/repo/x"}`, "null"),
		use("b", "Agent", `{}`, "null"),
		use("c", "Bash", `{}`, `"b"`),
		use("a", "Read", `{}`, "null"),
		outcome("c", "done", `{"stdout":"done"}`, false),
		outcome("a", "gone", `"Error"`, true),
		outcome("zz", "nobody's", `{}`, false),
		`{"type":"result","subtype":"success"}`,
	) {
		touched += len(calls.Add(m))
	}
	all := calls.All()
	if touched != 5 || len(all) != 3 {
		t.Fatalf("%d touched, %d calls, want 5 and 3", touched, len(all))
	}
	if a := all[0]; a.Use.Name != "Read" || a.Result == nil || !a.Result.IsError || a.Result.Content.Text() != "gone" {
		t.Errorf("first call %+v", a)
	}
	if c := all[2]; c.Agent.ToolUseID != "b" || string(c.Output) != `{"stdout":"done"}` {
		t.Errorf("call of the subagent %+v", c)
	}
	if running := calls.Running(); len(running) != 1 || running[0].Use.ID != "b" {
		t.Errorf("running %+v", running)
	}
}

func TestSubagentAndText(t *testing.T) {
	for _, tt := range []struct {
		line, text string
		agent      message.Subagent
	}{
		{`{"type":"assistant","parent_tool_use_id":"t","agent_id":"i","subagent_type":"k","task_description":"d","message":{"role":"assistant","content":"hi"}}`, "hi", message.Subagent{ToolUseID: "t", ID: "i", Type: "k", Description: "d"}},
		{`{"type":"user","parent_tool_use_id":"t","message":{"role":"user","content":"hi"}}`, "hi", message.Subagent{ToolUseID: "t"}},
		{`{"type":"result","subtype":"success","result":"yes"}`, "yes", message.Subagent{}},
		{`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h"}},"parent_tool_use_id":null}`, "h", message.Subagent{}},
		{`{"type":"tool_progress","tool_use_id":"u","tool_name":"Bash","parent_tool_use_id":"t","subagent_type":"k"}`, "", message.Subagent{ToolUseID: "t", Type: "k"}},
		{`{"type":"system","subtype":"init"}`, "", message.Subagent{}},
	} {
		m := say(t, tt.line)[0]
		if got := message.SubagentOf(m); got != tt.agent {
			t.Errorf("%s: agent %+v, want %+v", tt.line, got, tt.agent)
		}
		if got := message.TextOf(m); got != tt.text {
			t.Errorf("%s: text %q, want %q", tt.line, got, tt.text)
		}
	}
}

func event(body string) string {
	return `{"type":"stream_event","event":` + body + `,"parent_tool_use_id":null,"api_message_id":"m"}`
}

func TestDraft(t *testing.T) {
	var d message.Draft
	if d.Add(say(t, event(`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"lost"}}`))[0]) {
		t.Error("a delta without a block has changed the draft")
	}
	steps := []struct {
		event, want string
	}{
		{`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"opus","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}`, `[]`},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `[{"type":"thinking","thinking":"","signature":""}]`},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`, `[{"type":"thinking","thinking":"hm","signature":""}]`},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}`, `[{"type":"thinking","thinking":"hm","signature":"s"}]`},
		{`{"type":"content_block_stop","index":0}`, `[{"type":"thinking","thinking":"hm","signature":"s"}]`},
		{`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":""}]`},
		{`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"One"}}`, `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"One"}]`},
		{`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"u","name":"Read","input":{}}}`, ``},
		{`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`, `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"One"},{"type":"tool_use","id":"u","name":"Read","input":{}}]`},
		{`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}`, ``},
		{`{"type":"content_block_stop","index":2}`, `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"One"},{"type":"tool_use","id":"u","name":"Read","input":{"a":1}}]`},
		{`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}`, ``},
		{`{"type":"message_stop"}`, ``},
	}
	for _, step := range steps {
		if !d.Add(say(t, event(step.event))[0]) {
			t.Errorf("%s: nothing has changed", step.event)
		}
		got, err := d.Content().MarshalJSON()
		if err != nil || step.want != "" && string(got) != step.want {
			t.Errorf("%s: got %s, %v, want %s", step.event, got, err, step.want)
		}
	}
	if !d.Done || d.StopReason != "tool_use" || d.Usage.InputTokens != 7 || d.Usage.OutputTokens != 20 || d.MessageID != "m" || d.Model != "opus" || d.Text() != "One" {
		t.Errorf("draft %+v", d)
	}
	for _, odd := range []string{`{"type":"content_block_start","index":-1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_start","index":2000000000,"content_block":{"type":"text","text":""}}`} {
		var d message.Draft
		if d.Add(say(t, event(odd))[0]) {
			t.Errorf("%s was taken", odd)
		}
	}
}

func TestSpending(t *testing.T) {
	var s message.Spending
	for i, tt := range []struct {
		line        string
		total, turn float64
	}{
		{`{"type":"result","subtype":"success","num_turns":2,"total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":1},"modelUsage":{"m":{"inputTokens":10,"costUSD":0.5}}}`, 0.5, 0.5},
		{`{"type":"result","subtype":"success","num_turns":1,"total_cost_usd":0.75,"usage":{"input_tokens":5,"output_tokens":1},"modelUsage":{"m":{"inputTokens":15,"costUSD":0.75}}}`, 0.75, 0.25},
		{`{"type":"result","subtype":"success","num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":1},"modelUsage":{"m":{"inputTokens":1,"costUSD":0.25},"n":{"inputTokens":4}}}`, 1, 0.25},
	} {
		if !s.Add(say(t, tt.line)[0]) || s.TotalUSD != tt.total || s.TurnUSD != tt.turn {
			t.Errorf("result %d: total %v, turn %v, want %v and %v", i, s.TotalUSD, s.TurnUSD, tt.total, tt.turn)
		}
	}
	if s.Usage.InputTokens != 16 || s.Turns != 3 || s.AgentTurns != 4 || s.Models["m"].InputTokens != 16 || s.Models["m"].CostUSD != 1 || s.Models["n"].InputTokens != 4 {
		t.Errorf("got %+v", s)
	}
	if s.Add(say(t, `{"type":"system","subtype":"init"}`)[0]) {
		t.Error("an init counts as a result")
	}
}

// What the CLI does to the counts of a session, and what was really spent.
func TestSpendingBySession(t *testing.T) {
	result := func(session string, total, turn float64) string {
		line := fmt.Sprintf(`{"type":"result","subtype":"success","session_id":%q,"num_turns":1,"total_cost_usd":%v,"usage":{"input_tokens":10},"modelUsage":{"m":{"inputTokens":%v,"costUSD":%v}}`, session, total, 100*total, total)
		if turn >= 0 {
			line += fmt.Sprintf(`,"model_usage_since_last_result":{"m":{"inputTokens":%v,"costUSD":%v}}`, 100*turn, turn)
		}
		return line + "}"
	}
	const old = -1 // a CLI that does not report the cost of a turn
	for name, tt := range map[string]struct {
		lines []string
		total float64
	}{
		"resumed":                  {[]string{result("a", 1, 1), result("a", 2, 1), result("a", 3, 1)}, 3},
		"forked":                   {[]string{result("a", 1, 1), result("b", 2, 1), result("b", 3, 1), result("a", 2, 1)}, 4},
		"resumed, not seen before": {[]string{result("a", 5, 1), result("a", 6, 1)}, 2},
		"cancelled in between":     {[]string{result("a", 1, 1), result("a", 4, 1)}, 4},
		"cleared":                  {[]string{result("a", 1, 1), result("b", 0, 0), result("b", 1, 1)}, 2},
		"killed and resumed":       {[]string{result("a", 4, 4), result("a", 1, 1)}, 5},
		"killed, then a dear turn": {[]string{result("a", 1, 1), result("a", 4, 4), result("a", 5, 1)}, 6},
		"two at once":              {[]string{result("a", 1, 1), result("b", 2, 2), result("a", 2, 1), result("b", 4, 2)}, 6},
		"old CLI":                  {[]string{result("a", 1, old), result("a", 3, old)}, 3},
		"old CLI, resumed":         {[]string{result("a", 3, old), result("a", 1, old), result("a", 2, old)}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			var s message.Spending
			for _, m := range say(t, tt.lines...) {
				s.Add(m)
			}
			if s.TotalUSD != tt.total || s.Models["m"].CostUSD != tt.total || s.Models["m"].InputTokens != int(100*tt.total) || s.Usage.InputTokens != 10*len(tt.lines) {
				t.Errorf("spent %+v, want %v", s, tt.total)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	var p message.Progress
	add := func(lines ...string) (changed bool) {
		for _, m := range say(t, lines...) {
			changed = p.Add(m) || changed
		}
		return changed
	}
	todos := func(want ...message.Todo) {
		t.Helper()
		if got := p.Todos(); !reflect.DeepEqual(got, want) {
			t.Errorf("todos %+v, want %+v", got, want)
		}
	}
	if add(use("1", "TodoWrite", `{"todos":[{"content":"a","status":"in_progress","activeForm":"doing a"}]}`, "null")) {
		t.Error("a list counts before it is written")
	}
	add(outcome("1", "ok", `{}`, false))
	todos(message.Todo{Text: "a", Active: "doing a", Status: message.TodoInProgress})
	if got := p.Todos()[0]; got.Done() {
		t.Errorf("%+v is done", got)
	}
	add(use("2", "TodoWrite", `{"todos":[]}`, `"agent"`), outcome("2", "ok", `{}`, false))
	add(use("3", "TodoWrite", `{"todos":[]}`, `null`), outcome("3", "refused", `{}`, true))
	todos(message.Todo{Text: "a", Active: "doing a", Status: "in_progress"})
	add(use("4", "TodoWrite", `{"todos":[]}`, `null`), outcome("4", "ok", `{}`, false))
	add(use("5", "TaskCreate", `{"subject":"b","activeForm":"doing b"}`, `null`), outcome("5", "ok", `{"task":{"id":"7","subject":"b"}}`, false))
	add(use("6", "TaskUpdate", `{"taskId":"7","status":"completed"}`, `null`), outcome("6", "ok", `{}`, false))
	todos(message.Todo{ID: "7", Text: "b", Active: "doing b", Status: message.TodoCompleted})
	if got := p.Todos()[0]; !got.Done() {
		t.Errorf("%+v is not done", got)
	}
	add(use("7", "TaskUpdate", `{"taskId":"7","status":"deleted"}`, `null`), outcome("7", "ok", `{}`, false))
	if got := p.Todos(); len(got) != 0 {
		t.Errorf("todos %+v, want none", got)
	}

	add(`{"type":"system","subtype":"task_started","task_id":"t","tool_use_id":"u","description":"look","task_type":"local_agent","subagent_type":"scout"}`,
		`{"type":"system","subtype":"task_progress","task_id":"t","description":"look","usage":{"total_tokens":5,"tool_uses":1,"duration_ms":9},"last_tool_name":"Grep","summary":"looking"}`,
		`{"type":"system","subtype":"task_updated","task_id":"t","patch":{"is_backgrounded":true,"status":"running"}}`)
	want := message.Task{ID: "t", ToolUseID: "u", Type: "local_agent", Subagent: "scout", Description: "look", Background: true, Usage: message.TaskUsage{TotalTokens: 5, ToolUses: 1, DurationMS: 9}, LastTool: "Grep", Summary: "looking"}
	if got := p.Tasks(); len(got) != 1 || got[0] != want {
		t.Errorf("tasks %+v, want %+v", got, want)
	}
	if got := p.Tasks()[0]; got.Done() {
		t.Errorf("%+v is done", got)
	}
	if !add(`{"type":"system","subtype":"task_notification","task_id":"t","status":"completed","summary":"seen","output_file":"/tmp/o"}`) {
		t.Error("the end of a task changes nothing")
	}
	want.Status, want.Summary, want.OutputFile = message.TaskCompleted, "seen", "/tmp/o"
	if got := p.Tasks(); got[0] != want || !got[0].Done() {
		t.Errorf("tasks %+v, want %+v", got, want)
	}
}

func TestTaskDone(t *testing.T) {
	for status, done := range map[string]bool{
		"": false, "pending": false, "running": false, "paused": false,
		"completed": true, "failed": true, "stopped": true, "killed": true, "of a newer CLI": true,
	} {
		updated := decoded(t, `{"type":"system","subtype":"task_updated","task_id":"t","patch":{"status":"`+status+`"}}`).(*message.TaskUpdated)
		if updated.Done() != done || updated.Patch.Status.Done() != done {
			t.Errorf("a task %q: done is %v, want %v", status, updated.Done(), done)
		}
		ended := decoded(t, `{"type":"system","subtype":"task_notification","task_id":"t","status":"`+status+`"}`).(*message.TaskNotification)
		if want := done || status == ""; ended.Done() != want {
			t.Errorf("a notification %q: done is %v, want %v", status, ended.Done(), want)
		}
	}
}

func decoded(t *testing.T, line string) message.Message {
	t.Helper()
	m, err := message.Decode([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
