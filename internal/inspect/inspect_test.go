package inspect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// recorded reads a recording of the real CLI.
func recorded(t *testing.T, name string) *inspect.Report {
	t.Helper()
	f, err := os.Open(filepath.Join("../../claudetest/testdata/sessions", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rep, err := inspect.Read(f, &inspect.Options{Source: name})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// parse reads a recording from its lines.
func parse(t *testing.T, lines ...string) *inspect.Report {
	t.Helper()
	rep, err := inspect.Read(strings.NewReader(strings.Join(lines, "\n")+"\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestRecordings(t *testing.T) {
	type totals struct{ turns, failed, tools, toolErrors, asked, denied, hooks, mcp, interrupts, requests, unanswered, cancelled int }
	for name, want := range map[string]totals{
		"a1_initialize":                     {turns: 1, requests: 1},
		"c01_allow_updatedInput_same":       {turns: 1, tools: 1, asked: 1, requests: 2},
		"c04_deny_message":                  {turns: 1, tools: 1, toolErrors: 1, asked: 1, denied: 1, requests: 2},
		"d06_permissionrequest_outputs":     {turns: 4, tools: 4, toolErrors: 2, asked: 4, hooks: 4, requests: 9, cancelled: 4},
		"e01_sdk_mcp_basic":                 {turns: 1, tools: 1, asked: 1, mcp: 1, requests: 7},
		"f01_interrupt_midstream":           {turns: 2, interrupts: 1, requests: 2},
		"f03_interrupt_pending_permission":  {turns: 1, tools: 1, toolErrors: 1, asked: 1, interrupts: 1, requests: 3, cancelled: 1},
		"g01_control_requests":              {turns: 1, requests: 23, unanswered: 1},
		"i01_max_turns":                     {turns: 2, failed: 2, tools: 4, requests: 1},
		"k11_resume_unknown":                {turns: 2, failed: 1, requests: 1, unanswered: 1},
		"i21_subagent_foreground":           {turns: 1, tools: 2, requests: 1},
		"c33_duplicate_and_orphan_response": {turns: 2, tools: 1, asked: 1, requests: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := recorded(t, name).Summary
			got := totals{s.Turns, s.FailedTurns, s.ToolCalls, s.ToolErrors, s.Asked, s.Denied, s.Hooks, s.MCPCalls, s.Interrupts, s.Requests, s.Unanswered, s.Cancelled}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Every recording can be shown in every way, and every line of it is there.
func TestEveryRecording(t *testing.T) {
	files, err := filepath.Glob("../../claudetest/testdata/sessions/*.ndjson")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for i, path := range files {
		if i%long.Pick(4, 1) != 0 {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := inspect.Read(bytes.NewReader(data), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if lines := bytes.Count(data, []byte("\n")); len(rep.Frames) != lines || rep.Summary.Lines != lines {
			t.Errorf("%s: %d frames, want %d", path, len(rep.Frames), lines)
		}
		checkOutputs(t, rep)
	}
}

// checkOutputs shows a report in every way.
func checkOutputs(t *testing.T, rep *inspect.Report) (text, page string) {
	t.Helper()
	var plain, object, html bytes.Buffer
	if err := rep.WriteText(&plain, false); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(plain.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
		t.Errorf("control character in the text: %q", plain.String()[max(i-20, 0):i+1])
	}
	if err := rep.WriteJSON(&object); err != nil {
		t.Fatal(err)
	}
	var back inspect.Report
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || len(back.Frames) != len(rep.Frames) {
		t.Errorf("JSON has %d frames (%v), want %d", len(back.Frames), err, len(rep.Frames))
	}
	if err := rep.WriteHTML(&html, inspect.Limits{}); err != nil {
		t.Fatal(err)
	}
	return plain.String(), html.String()
}

func TestExchanges(t *testing.T) {
	rep := recorded(t, "c04_deny_message")
	x := rep.Exchanges[1]
	if x.From != claudetest.DirOut || x.Kind != inspect.KindPermission || x.About != "Write" || x.Outcome != inspect.Answered ||
		!strings.HasPrefix(x.Answer, "denied: ") || !x.Denies() || x.LatencyMS == nil || x.Turn != 1 {
		t.Errorf("permission: %+v", x)
	}
	if first := rep.Exchanges[0]; first.From != claudetest.DirIn || first.Subtype != "initialize" || *first.LatencyMS < 100 || first.Turn != 0 {
		t.Errorf("handshake: %+v", first)
	}
	tool := rep.Turns[0].Items[1].Tool
	if tool == nil || tool.Name != "Write" || tool.Ran || !tool.Done || tool.Decision != "deny" || len(tool.Asked) != 1 || tool.Asked[0] != x {
		t.Errorf("tool call: %+v", tool)
	}
	cancelled := recorded(t, "d06_permissionrequest_outputs").Exchanges[1]
	if cancelled.Outcome != inspect.Cancelled || cancelled.EndLine == 0 || cancelled.Bad() {
		t.Errorf("cancelled: %+v", cancelled)
	}
}

func TestProblems(t *testing.T) {
	const head = `{"dir":"meta","t_ms":0,"msg":{"argv":["claude"]}}`
	request := func(dir, id string) string {
		return fmt.Sprintf(`{"dir":%q,"t_ms":1,"msg":{"type":"control_request","request_id":%q,"request":{"subtype":"interrupt"}}}`, dir, id)
	}
	reply := func(dir, id string) string {
		return fmt.Sprintf(`{"dir":%q,"t_ms":2,"msg":{"type":"control_response","response":{"subtype":"success","request_id":%q}}}`, dir, id)
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"nothing", []string{head, request("in", "a"), reply("out", "a")}, nil},
		{"unanswered", []string{head, request("in", "a")}, []string{"2 request a (interrupt) was never answered"}},
		{"ids of the two sides are apart", []string{head, request("in", "a"), request("out", "a"), reply("in", "a")}, []string{"2 request a (interrupt) was never answered"}},
		{"orphan", []string{head, reply("out", "a")}, []string{"2 reply to a, which nobody asked"}},
		{"twice", []string{head, request("in", "a"), reply("out", "a"), reply("out", "a")}, []string{"4 second reply to a"}},
		{"taken back", []string{head, request("out", "a"), `{"dir":"out","t_ms":2,"msg":{"type":"control_cancel_request","request_id":"a"}}`, reply("in", "a")}, []string{"4 reply to a, which was taken back"}},
		{"no id", []string{head, `{"dir":"out","t_ms":1,"msg":{"type":"control_request","request":{"subtype":"x"}}}`}, []string{"2 Missing required field: request_id"}},
		{"no JSON", []string{head, "hello"}, []string{"2 line cannot be read"}},
		{"no envelope", []string{head, `{"a":1}`, `{"dir":"sideways","msg":{}}`, `{"dir":"in"}`}, []string{"2 line cannot be read: it has no dir and msg", "3 line cannot", "4 line cannot"}},
		{"text of the CLI", []string{head, `{"dir":"out","t_ms":1,"msg":{"_raw":"oops"}}`}, []string{"2 line is not JSON"}},
		{"JSON kept as text", []string{head, `{"dir":"in","t_ms":1,"msg":{"_raw":"\ufeff{\"type\":\"keep_alive\"}\r\n"}}`, `{"dir":"in","t_ms":1,"msg":{"_raw":" \n\n"}}`}, nil},
		{"request kept as text", []string{head, `{"dir":"in","t_ms":1,"msg":{"_raw":"{\"type\":\"control_request\",\"request_id\":\"a\",\"request\":{\"subtype\":\"interrupt\"}}\n"}}`, reply("out", "a")}, nil},
		{"JSON over several lines", []string{head, `{"dir":"in","t_ms":1,"msg":{"_raw":"{\n\"type\":\"keep_alive\"}"}}`}, []string{"2 JSON over several lines"}},
		{"list kept as text", []string{head, `{"dir":"in","t_ms":1,"msg":{"_raw":"[1,2]\n"}}`}, []string{"2 frame cannot be read"}},
		{"words of the recorder", []string{head, `{"dir":"in","t_ms":1,"msg":{"_write_error":"broken pipe"}}`, `{"dir":"in","t_ms":1,"msg":{"_note":"5 MB of x"}}`, `{"dir":"in","t_ms":1,"msg":{"_eof":true}}`}, nil},
		{"no object", []string{head, `{"dir":"out","t_ms":1,"msg":[1]}`}, []string{"2 frame cannot be read"}},
		{"two readings", []string{head, `{"dir":"out","t_ms":1,"msg":{"type":"a","Type":"b"}}`}, []string{"2 frame cannot be read"}},
		{"lost", []string{head, `{"dir":"meta","t_ms":1,"msg":{"lost_bytes":2048}}`}, []string{"2 the recorder could not keep up, 2.0 KiB are missing"}},
		{"no result", []string{head, `{"dir":"in","t_ms":1,"msg":{"type":"user","message":{"role":"user","content":"hi"}}}`}, []string{"2 turn 1 has no result"}},
		{"stray result", []string{head, `{"dir":"out","t_ms":1,"msg":{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}}`, `{"dir":"out","t_ms":1,"msg":{"type":"result"}}`}, []string{"2 result of the tool call t, which nobody made"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep := parse(t, tt.lines...)
			var got []string
			for _, p := range rep.Problems {
				got = append(got, fmt.Sprintf("%d %s", p.Line, p.What))
			}
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
			if len(rep.Frames) != len(tt.lines) {
				t.Errorf("%d frames, want %d", len(rep.Frames), len(tt.lines))
			}
			text, _ := checkOutputs(t, rep)
			for _, p := range rep.Problems {
				if !strings.Contains(text, p.What) {
					t.Errorf("the text does not say %q", p.What)
				}
			}
		})
	}
}

// A file that is not a recording is one error that explains why.
func TestNoRecording(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "not a recording: it is empty",
		"\n \n":             "not a recording: it is empty",
		"hello\nworld\n":    "not a recording: line 1: line cannot be read",
		"{\"a\":1}\n":       "not a recording: line 1: line cannot be read: it has no dir and msg",
		"\n{\"dir\":\"in\"": "not a recording: line 2: line cannot be read: the file ends inside it",
		"\x1f\x8b\x08\x00":  "not a recording: line 1",
	} {
		rep, err := inspect.Read(strings.NewReader(in), nil)
		if f, ok := errors.AsType[*inspect.FormatError](err); !ok || !strings.HasPrefix(f.Error(), want) || strings.Contains(f.Error(), "\n") {
			t.Errorf("%q: %v, %v, want %q", in, rep, err, want)
		}
	}
	if _, err := inspect.Read(failing{}, nil); err == nil || !strings.Contains(err.Error(), "broken disk") {
		t.Errorf("a reader that fails: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken disk") }

// Output of the CLI without envelopes is read as that.
func TestBareOutput(t *testing.T) {
	rep := parse(t, `{"type":"system","subtype":"init","model":"m","cwd":"/repo"}`, `{"type":"result","subtype":"success","result":"done","total_cost_usd":0.5}`)
	if s := rep.Summary; s.Turns != 1 || s.Model != "m" || s.CostUSD != 0.5 || len(rep.Problems) != 0 {
		t.Errorf("summary %+v, problems %v", s, rep.Problems)
	}
}

func TestUnknownNames(t *testing.T) {
	rep := parse(t,
		`{"dir":"out","t_ms":0,"msg":{"type":"result","subtype":"success","is_error":false,"stop_reason":null,"api_error_status":0,"queued_turn_count":0,"brand_new":null,"usage":{"input_tokens":0,"newer":0},"modelUsage":{"m":{"inputTokens":0,"newest":""}}}}`,
		`{"dir":"out","t_ms":1,"msg":{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"B","input":{"anything":{"goes":1}},"caller":"x"},{"type":"hologram","x":1}]},"uuid":""}}`,
		`{"dir":"out","t_ms":2,"msg":{"type":"telepathy"}}`,
		`{"dir":"out","t_ms":3,"msg":{"type":"system","subtype":"aura"}}`,
		`{"dir":"out","t_ms":4,"msg":{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"B","input":{"free":1},"title":"","mood":"good"}}}`,
		`{"dir":"out","t_ms":5,"msg":{"type":"control_request","request_id":"2","request":{"subtype":"hook_callback","input":{"hook_event_name":"PreToolUse","tool_input":{"free":1},"agent_id":"","weather":false}}}}`,
		`{"dir":"out","t_ms":6,"msg":{"type":"control_request","request_id":"3","request":{"subtype":"hook_callback","input":{"hook_event_name":"FullMoon"}}}}`,
		`{"dir":"out","t_ms":7,"msg":{"type":"control_request","request_id":"4","request":{"subtype":"sing"}}}`,
	)
	var got []string
	for _, u := range rep.Unknown {
		got = append(got, u.Name)
	}
	want := []string{
		"result.brand_new", "result.modelUsage.*.newest", "result.usage.newer",
		"assistant.message.content[hologram]", "assistant.message.content[tool_use].caller", "telepathy", "system/aura",
		"request can_use_tool.mood", "hook PreToolUse.weather", "hook/FullMoon", "request sing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The end of the process is shown in whichever form a recorder wrote it.
func TestExit(t *testing.T) {
	code := func(n int) *int { return &n }
	for _, tt := range []struct {
		name, meta string
		code       *int
		exit       string
		failed     bool
		summary    string
	}{
		{"well", `{"exit_code":0}`, code(0), "exit code 0", false, "exit code 0"},
		{"badly", `{"exit_code":3}`, code(3), "exit code 3", true, "exit code 3"},
		{"with stderr", `{"exit_code":1,"exit_after_s":0.2,"stderr":"Error: no\nreally"}`, code(1), "exit code 1", true, "exit code 1, stderr: Error: no really"},
		{"with nothing on stderr", `{"exit_code":143,"stderr":""}`, code(143), "exit code 143", true, "exit code 143"},
		{"by a signal", `{"exit_code":137,"signal":"killed"}`, code(137), "ended by signal: killed", true, "ended by signal: killed"},
		{"in words", `{"exit_code":"timeout->kill","stderr":"late"}`, nil, "ended: timeout->kill", true, "ended: timeout->kill, stderr: late"},
		{"stderr alone", `{"stderr":"hm"}`, nil, "", false, "hm"},
		{"a signal that was sent", `{"signal":"SIGTERM"}`, nil, "", false, "signal sent: SIGTERM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep := parse(t, `{"dir":"out","t_ms":0,"msg":{"type":"keep_alive"}}`, `{"dir":"meta","t_ms":1,"msg":`+tt.meta+`}`)
			s, f := rep.Summary, rep.Frames[1]
			if s.Exit != tt.exit || (s.ExitCode == nil) != (tt.code == nil) || tt.code != nil && *s.ExitCode != *tt.code {
				t.Errorf("exit %q, code %v", s.Exit, s.ExitCode)
			}
			if f.Summary != tt.summary || (f.Error != "") != tt.failed {
				t.Errorf("frame says %q, error %q", f.Summary, f.Error)
			}
			if text, page := checkOutputs(t, rep); tt.exit != "" && (!strings.Contains(text, "· "+tt.exit) || !strings.Contains(page, html.EscapeString(tt.exit))) {
				t.Errorf("the end is not shown:\n%s", text)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	whole := recorded(t, "e01_sdk_mcp_basic")
	count := func(want inspect.Filter) int {
		rep := &inspect.Report{Frames: slices.Clone(whole.Frames), Exchanges: slices.Clone(whole.Exchanges)}
		all := len(rep.Frames)
		rep.Keep(want)
		if len(rep.Frames)+rep.Hidden != all {
			t.Errorf("%+v: %d shown and %d hidden of %d", want, len(rep.Frames), rep.Hidden, all)
		}
		return len(rep.Frames)
	}
	for _, tt := range []struct {
		want inspect.Filter
		n    int
	}{
		{inspect.Filter{}, 23},
		{inspect.Filter{Kinds: []string{"MCP"}}, 8},
		{inspect.Filter{Kinds: []string{"can_use_tool", "result"}}, 3},
		{inspect.Filter{Kinds: []string{"control_request"}, Dir: claudetest.DirIn}, 2},
		{inspect.Filter{RequestID: "req_1"}, 2},
		{inspect.Filter{Turn: 1}, 10},
		{inspect.Filter{Text: "TOOLS/list"}, 2},
		{inspect.Filter{Errors: true}, 0},
	} {
		if got := count(tt.want); got != tt.n {
			t.Errorf("%+v: %d frames, want %d", tt.want, got, tt.n)
		}
	}
	rep := recorded(t, "g01_control_requests")
	rep.Keep(inspect.Filter{Errors: true})
	if !slices.ContainsFunc(rep.Frames, func(f *inspect.Frame) bool { return f.RequestID == "req_23" }) {
		t.Error("a request that nobody answered is not an error")
	}
}

// A filter leaves nothing in any view that does not rest on a frame it has kept.
func TestFilterViews(t *testing.T) {
	read := func() *inspect.Report {
		rep, err := inspect.Read(bytes.NewReader(sample(t)), nil)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	rep := read()
	rep.Keep(inspect.Filter{Kinds: []string{"permission"}, Text: "force"})
	if len(rep.Turns) != 1 || rep.Turns[0].Number != 2 || len(rep.Turns[0].Items) != 1 || len(rep.Exchanges) != 1 || rep.Summary.Turns != 3 {
		t.Errorf("%d turns, %d exchanges, %+v: want the call that was asked about alone, and whole totals", len(rep.Turns), len(rep.Exchanges), rep.Summary)
	}
	text, page := checkOutputs(t, rep)
	for _, out := range []string{text, page} {
		if strings.Contains(out, "go test") || !strings.Contains(out, "git push") {
			t.Errorf("the filter does not filter:\n%s", out)
		}
	}
	rep = read()
	rep.Keep(inspect.Filter{Turn: 3})
	if len(rep.Turns) != 1 || rep.Turns[0].Number != 3 || len(rep.Problems) != 0 {
		t.Errorf("%d turns, problems %v, want the third alone", len(rep.Turns), rep.Problems)
	}
}

func TestSecrets(t *testing.T) {
	lines := strings.Join([]string{
		`{"dir":"meta","t_ms":0,"msg":{"argv":["claude","--settings={\"env\":{\"X_TOKEN\":\"swordfish-1\"}}"]}}`,
		`{"dir":"in","t_ms":1,"msg":{"type":"control_request","request_id":"1","request":{"subtype":"mcp_set_servers","servers":{"a":{"headers":{"Authorization":"Bearer swordfish-2222"},"env":{"A_KEY":"swordfish-3"}}}}}}`,
		`{"dir":"out","t_ms":2,"msg":{"type":"assistant","message":{"content":[{"type":"text","text":"swordfish-3 sk-ant-api03-swordfish-4 from-env-swordfish"}]}}}`,
		`{"dir":"out","t_ms":3,"msg":{"_raw":"export MY_TOKEN=swordfish-5"}}`,
		`broken "password":"x" Authorization: Bearer swordfish-6666`,
	}, "\n")
	known := secret.FromEnv([]string{"MY_SECRET=from-env-swordfish"})
	rep, err := inspect.Read(strings.NewReader(lines), &inspect.Options{Secrets: known})
	if err != nil {
		t.Fatal(err)
	}
	text, page := checkOutputs(t, rep)
	var object bytes.Buffer
	_ = rep.WriteJSON(&object)
	for _, out := range []string{text, page, object.String()} {
		if i := strings.Index(out, "swordfish"); i >= 0 {
			t.Errorf("a secret is shown: %q", out[max(i-60, 0):i+9])
		}
	}
	rep, err = inspect.Read(strings.NewReader(lines), &inspect.Options{ShowSecrets: true})
	if err != nil {
		t.Fatal(err)
	}
	if text, page := checkOutputs(t, rep); !strings.Contains(text, "swordfish-4") || !strings.Contains(page, "Secrets are NOT hidden.") {
		t.Error("secrets are hidden although they are wanted")
	}
}

// Whatever a recording contains stays text.
func TestHostileRecording(t *testing.T) {
	rep, err := inspect.Read(bytes.NewReader(hostileRecording(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, page := checkOutputs(t, rep)
	for _, bad := range []string{"<script>window", "<img src", "<svg/onload"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	escapes := parse(t, `{"dir":"out","t_ms":0,"msg":{"type":"result","result":"\u001b]0;title\u0007\r\u202e","subtype":"\u001b[2J","is_error":true}}`)
	checkOutputs(t, escapes)
}

// Limits hold, and what they cut is said. A long recording takes seconds.
func TestLimits(t *testing.T) {
	begun := time.Now()
	rep, err := inspect.Read(bytes.NewReader(large(10_000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := rep.WriteHTML(&page, inspect.Limits{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("10,001 frames took %v", took)
	}
	if page.Len() > 12<<20 {
		t.Errorf("the page has %d bytes", page.Len())
	}
	long := strings.Repeat("long ", 1<<17)
	rep = parse(t, fmt.Sprintf(`{"dir":"in","t_ms":0,"msg":{"type":"user","message":{"role":"user","content":%q}}}`, long),
		fmt.Sprintf(`{"dir":"out","t_ms":1,"msg":{"type":"assistant","message":{"content":[{"type":"text","text":%q}]}}}`, long))
	var second bytes.Buffer
	if err := rep.WriteHTML(&second, inspect.Limits{Total: 40 << 10}); err != nil {
		t.Fatal(err)
	}
	for text, in := range map[string]string{
		"5001 of 10001 frames are not listed":                 page.String(),
		"more are not shown":                                  second.String(),
		"the page shows 40.0 KiB of texts and frames at most": second.String(),
	} {
		if !strings.Contains(in, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	if second.Len() > 200<<10 {
		t.Errorf("the page has %d bytes", second.Len())
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"dir":"in","t_ms":1,"msg":{"type":"user","message":{"content":"a"}}}` + "\n"))
	f.Add([]byte(`{"dir":"out","t_ms":1e300,"msg":{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","input":[]}]}}}` + "\n\x00"))
	f.Add([]byte(`{"dir":"out","t_ms":-5,"msg":{"type":"control_request","request_id":1,"request":{"subtype":"hook_callback","input":7}}}` + "\n"))
	f.Add([]byte(`{"dir":"meta","msg":{"argv":[],"exit_code":"x"}}` + "\n" + `{"dir":"out","msg":{"type":"result","modelUsage":{"a":{}},"usage":[]}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rep, err := inspect.Read(bytes.NewReader(data), nil)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		want := 0
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				want++
			}
		}
		if len(rep.Frames) != want {
			t.Errorf("%d frames of %d lines", len(rep.Frames), want)
		}
		checkOutputs(t, rep)
	})
}

// An interrupt while a question is open is not a denial; a hook that decides in
// the meantime is not an interrupt.
func TestInterruptedQuestion(t *testing.T) {
	for name, want := range map[string][]inspect.ToolState{
		"f03_interrupt_pending_permission": {inspect.Interrupted},
		"d06_permissionrequest_outputs":    {inspect.ToolOK, inspect.ToolOK, inspect.Denied, inspect.Denied},
	} {
		var got []inspect.ToolState
		for _, turn := range recorded(t, name).Turns {
			for _, it := range turn.Items {
				if it.Tool != nil {
					got = append(got, it.Tool.State())
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A tool that ran when an interrupt came is not denied, although the CLI marks it as
// rejected; one that only prints the CLI's words is not interrupted.
func TestInterruptedTool(t *testing.T) {
	const stopped = "The user doesn't want to proceed with this tool use. Correction to the text above: this call was stopped while running, not refused before it ran."
	for _, c := range []struct {
		tool inspect.Tool
		want inspect.ToolState
	}{
		{inspect.Tool{Done: true, IsError: true, Output: stopped}, inspect.Interrupted},
		{inspect.Tool{Done: true, Ran: true, Output: stopped}, inspect.ToolOK},
		{inspect.Tool{Done: true, IsError: true, Output: "no"}, inspect.Denied},
	} {
		if got := c.tool.State(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.tool, got, c.want)
		}
	}
}
