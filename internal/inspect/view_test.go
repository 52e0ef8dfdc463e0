package inspect_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
)

// rich is a recording with what deserves a form of its own: Markdown, an edit, a
// question with its answer, hooks without an opinion, a call of the API that is
// tried again, a tool that fails, two models.
const rich = `{"dir":"in","t_ms":0,"msg":{"type":"user","message":{"role":"user","content":"Fix it."}}}
{"dir":"out","t_ms":10,"msg":{"type":"system","subtype":"init","model":"model-a","cwd":"/repo","session_id":"s"}}
{"dir":"out","t_ms":20,"msg":{"type":"control_request","request_id":"h1","request":{"subtype":"hook_callback","callback_id":"c","input":{"hook_event_name":"UserPromptSubmit","prompt":"Fix it."}}}}
{"dir":"in","t_ms":120,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"h1","response":{}}}}
{"dir":"out","t_ms":130,"msg":{"type":"control_request","request_id":"h2","request":{"subtype":"hook_callback","callback_id":"c","input":{"hook_event_name":"Stop"}}}}
{"dir":"in","t_ms":140,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"h2","response":{}}}}
{"dir":"out","t_ms":500,"msg":{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error":"rate_limit","error_status":429}}
{"dir":"out","t_ms":1120,"msg":{"type":"assistant","message":{"id":"m1","model":"model-a","content":[{"type":"text","text":"# Plan\n\nFirst **read**, then:\n\n- run ` + "`go test`" + `\n- fix it\n\n1. one\n2. two\n\n> careful\n\n` + "```go\\nif a < b {\\n```" + `\n\n| file | state |\n|---|---|\n| a.go | *bad* |\n\n[docs](https://example.com/x?a=1&b=2)"},{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/repo/a.go","old_string":"one\ntwo\nthree","new_string":"one\n2\nthree\nfour"}}]}}}
{"dir":"out","t_ms":1130,"msg":{"type":"control_request","request_id":"p1","request":{"subtype":"can_use_tool","tool_name":"Edit","tool_use_id":"t1","input":{"file_path":"/repo/a.go","old_string":"one\ntwo\nthree","new_string":"one\n2\nthree\nfour"}}}}
{"dir":"in","t_ms":3130,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"p1","response":{"behavior":"allow","updatedInput":{}}}}}
{"dir":"out","t_ms":3200,"msg":{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"no such file","is_error":true}]}}}
{"dir":"out","t_ms":4200,"msg":{"type":"assistant","message":{"id":"m2","model":"model-b","content":[{"type":"tool_use","id":"t2","name":"AskUserQuestion","input":{"questions":[{"question":"Which way?","header":"Way","multiSelect":false,"options":[{"label":"Left","description":"short"},{"label":"Right"}]},{"question":"Why?","header":"Why","multiSelect":false,"options":[{"label":"A"},{"label":"B"}]}]}}]}}}
{"dir":"out","t_ms":4210,"msg":{"type":"control_request","request_id":"p2","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t2","input":{}}}}
{"dir":"in","t_ms":6210,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"p2","response":{"behavior":"allow","updatedInput":{"answers":{"Which way?":"Right","Why?":"because"}}}}}}
{"dir":"out","t_ms":6220,"msg":{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"answered"}]}}}
{"dir":"out","t_ms":7220,"msg":{"type":"result","subtype":"success","terminal_reason":"completed","result":"ok","session_id":"s","num_turns":2,"total_cost_usd":0.5,"modelUsage":{"model-a":{"costUSD":0.3},"model-c":{"costUSD":0.2}},"brand_new":1}}
`

// troubled is a recording in which everything goes wrong that is worth a look, in
// another order than it is listed in: a call of the API is tried again, a tool
// fails, another is denied, the turn is interrupted, a request is never answered,
// and the result has an unknown name.
const troubled = `{"dir":"in","t_ms":0,"msg":{"type":"user","message":{"role":"user","content":"Ship it."}}}
{"dir":"out","t_ms":10,"msg":{"type":"system","subtype":"init","model":"model-a","cwd":"/repo","session_id":"s"}}
{"dir":"out","t_ms":20,"msg":{"type":"system","subtype":"session_title_changed","title":"Ship"}}
{"dir":"in","t_ms":30,"msg":{"type":"control_request","request_id":"m1","request":{"subtype":"set_model","model":"model-b"}}}
{"dir":"out","t_ms":500,"msg":{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error":"overloaded","error_status":529}}
{"dir":"out","t_ms":1000,"msg":{"type":"assistant","message":{"id":"m1","model":"model-a","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test"}}]}}}
{"dir":"out","t_ms":1500,"msg":{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"FAIL","is_error":true}]}}}
{"dir":"out","t_ms":2000,"msg":{"type":"assistant","message":{"id":"m2","model":"model-a","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"git push"}}]}}}
{"dir":"out","t_ms":2010,"msg":{"type":"control_request","request_id":"p1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t2","input":{"command":"git push"}}}}
{"dir":"in","t_ms":3010,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"p1","response":{"behavior":"deny","message":"not today"}}}}
{"dir":"out","t_ms":3020,"msg":{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"not today","is_error":true}]}}}
{"dir":"out","t_ms":3030,"msg":{"type":"system","subtype":"session_title_changed","title":"Ship the release"}}
{"dir":"in","t_ms":3500,"msg":{"type":"control_request","request_id":"i1","request":{"subtype":"interrupt"}}}
{"dir":"out","t_ms":3510,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"i1"}}}
{"dir":"out","t_ms":3520,"msg":{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":"s","num_turns":2,"brand_new":1}}
`

func richPage(t *testing.T, title string) (*inspect.Report, string) {
	t.Helper()
	rep, err := inspect.Read(strings.NewReader(rich), &inspect.Options{Source: "/x/session.ndjson", Title: title})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := rep.WriteHTML(&page, inspect.Limits{}); err != nil {
		t.Fatal(err)
	}
	return rep, page.String()
}

// What has a form of its own is shown in it.
func TestForms(t *testing.T) {
	_, page := richPage(t, "Repair the list")
	for name, want := range map[string]string{
		"the title of the session": `<title>Repair the list</title>`,
		"every model":              `<span>model-a, model-b, model-c</span>`,
		"a heading":                `<p class="heading">Plan</p>`,
		"emphasis":                 `<p>First <strong>read</strong>, then:</p>`,
		"a list":                   `<ul><li>run <code>go test</code></li><li>fix it</li></ul>`,
		"a list with numbers":      `<ol><li>one</li><li>two</li></ol>`,
		"a quote":                  `<blockquote><p>careful</p></blockquote>`,
		"code":                     "<pre tabindex=\"0\"><span class=\"k\">if</span> a &lt; b {\n</pre>",
		"a table":                  `<table><thead><tr><th>file</th><th>state</th></tr></thead><tbody><tr><td>a.go</td><td><em>bad</em></td></tr></tbody></table>`,
		"a link with its host":     `>docs</a> <span class="host">(example.com)</span></p>`,
		"a diff":                   "<span> one\n</span><span class=\"del\">-two\n</span><span class=\"add\">&#43;2\n</span><span> three\n</span><span class=\"add\">&#43;four\n</span>",
		"a question":               `<div class="question"><p>Which way?</p><ul><li>Left <span class="dim">short</span></li><li class="chosen"><span class="hidden">chosen: </span>Right</li></ul></div>`,
		"an answer in own words":   `<p class="answer">Answer: because</p>`,
		"hooks, folded":            `<summary>2 hook calls without an opinion</summary>`,
		"the subject":              `<b>AskUserQuestion</b> <code>Which way?</code>`,
		"waiting":                  `waited 2.00 s`,
		"running":                  `ran 70 ms`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page has no %q", name, want)
		}
	}
}

// Denials, failures, interrupts and retries come first, unknown names last.
func TestFindings(t *testing.T) {
	rep, page := richPage(t, "")
	if len(rep.Findings) != 2 || rep.Findings[0].Kind != inspect.FindingFailed || rep.Findings[1].Kind != inspect.FindingRetried {
		t.Errorf("%+v, want the failure and the retry", rep.Findings)
	}
	section := page[strings.Index(page, `id="findings"`):]
	section = section[:strings.Index(section, "</section>")]
	last := -1
	for _, want := range []string{"Edit /repo/a.go: no such file", "rate limit, attempt 1 of 10", "brand_new"} {
		at := strings.Index(section, want)
		if at <= last {
			t.Errorf("%q stands at %d, want it after %d:\n%s", want, at, last, section)
		}
		last = at
	}
	if !strings.Contains(page, "<title>Fix it.</title>") {
		t.Error("without a title the first prompt is missing")
	}
	all, err := inspect.Read(bytes.NewReader(sample(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []inspect.FindingKind
	for _, f := range all.Findings {
		kinds = append(kinds, f.Kind)
	}
	if len(kinds) != 2 || kinds[0] != inspect.FindingDenied || kinds[1] != inspect.FindingInterrupted {
		t.Errorf("%v, want the denial and the interrupt", kinds)
	}
}

// Findings are listed by kind, not by time: people's decisions and failures first,
// unknown names last.
func TestOrderOfFindings(t *testing.T) {
	rep := parse(t, strings.Split(strings.TrimSpace(troubled), "\n")...)
	var kinds []inspect.FindingKind
	for _, f := range rep.Findings {
		kinds = append(kinds, f.Kind)
	}
	want := []inspect.FindingKind{inspect.FindingDenied, inspect.FindingFailed, inspect.FindingInterrupted, inspect.FindingRetried}
	if !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	if len(rep.Problems) != 1 || len(rep.Unknown) != 1 {
		t.Errorf("problems %v and unknown names %v, want one of each", rep.Problems, rep.Unknown)
	}
}

// The title is that of the session: the last one that it was given, unless the
// caller knows better.
func TestTitle(t *testing.T) {
	for given, want := range map[string]string{"": "Ship the release", "From the list": "From the list"} {
		rep, err := inspect.Read(strings.NewReader(troubled), &inspect.Options{Title: given})
		if err != nil || rep.Title != want {
			t.Errorf("%q, %v, want %q", rep.Title, err, want)
		}
	}
}

// What went wrong is said once, in the list of frames and in the text.
func TestErrorsAreSaidOnce(t *testing.T) {
	rep := parse(t, `{"dir":"in","t_ms":0,"msg":{"type":"control_request","request_id":"a","request":{"subtype":"set_model","model":"m"}}}`,
		`{"dir":"out","t_ms":1,"msg":{"type":"control_response","response":{"subtype":"error","request_id":"a","error":"no such model"}}}`)
	text, page := checkOutputs(t, rep)
	text = text[strings.Index(text, "frames"):]
	page = page[strings.Index(page, `id="f2"`):]
	page = page[:strings.Index(page, "<pre")]
	for name, out := range map[string]string{"text": text, "page": page} {
		if n := strings.Count(out, "no such model"); n != 1 {
			t.Errorf("the %s says it %d times:\n%s", name, n, out)
		}
	}
}

// The model's own time is neither that of hooks nor that of tools, and a tool
// does not run while it waits for permission.
func TestModelTime(t *testing.T) {
	rep, page := richPage(t, "")
	turn := rep.Turns[0]
	want := []inspect.Span{{FromMS: 140, ToMS: 1120}, {FromMS: 3200, ToMS: 4200}}
	if len(turn.Model) != 2 || turn.Model[0] != want[0] || turn.Model[1] != want[1] || turn.ModelMS() != 1980 {
		t.Errorf("the model worked %v, %v ms, want %v", turn.Model, turn.ModelMS(), want)
	}
	for _, it := range turn.Items {
		if it.Tool != nil && it.Tool.Name == "Edit" && (it.Tool.WaitedMS() != 2000 || it.Tool.RanMS() != 70 || it.Tool.RunFromMS() != 3130) {
			t.Errorf("Edit waited %v ms and ran %v ms from %v", it.Tool.WaitedMS(), it.Tool.RanMS(), it.Tool.RunFromMS())
		}
	}
	for class, n := range map[string]int{"model": 2, "tool": 1, "tool bad": 1, "permission": 2, "hook": 2} {
		if got := strings.Count(page, `class="bar `+class+`"`); got != n {
			t.Errorf("%d bars of %s, want %d", got, class, n)
		}
	}
}
