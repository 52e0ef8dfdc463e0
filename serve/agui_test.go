package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
	"github.com/claude-agent-go/claude/store"
)

// aguiClient is the client of AG-UI for JavaScript.
var aguiClient = npm.Package{Name: "@ag-ui/client", Version: "1.0.0", Has: "dist/index.js"}

// aguiSeen is the client's view of a run.
type aguiSeen struct {
	Types    []string
	Events   []agui.RunEvent
	Error    string
	Status   int
	Messages []struct {
		ID, Role   string
		Content    json.RawMessage
		ToolCallID string
		ToolCalls  []agui.RunCall
	}
	Pending []agui.Interrupt
	State   agui.RunState
}

// text returns the text that the client shows for a role.
func (s *aguiSeen) text(role string) string {
	var all []string
	for _, m := range s.Messages {
		var text string
		if m.Role == role && json.Unmarshal(m.Content, &text) == nil && text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "|")
}

// outcome is how the run ended.
func (s *aguiSeen) outcome() string {
	if len(s.Events) == 0 {
		return "nothing"
	}
	last := s.Events[len(s.Events)-1]
	if last.Outcome != nil {
		return last.Type + " " + last.Outcome.Type
	}
	return last.Type + " " + last.Code
}

// aguiRuns drives a server with the npm client.
func aguiRuns(t *testing.T, r *rig) map[string][]aguiSeen {
	t.Helper()
	modules := npm.Need(t, aguiClient)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/agui.mjs", modules, r.http.URL+"/ag-ui/shop", r.token("ada", api.RoleOperator))
	cmd.WaitDelay = time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	runs := make(map[string][]aguiSeen)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var one struct {
			Name string
			Runs []aguiSeen
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		runs[one.Name] = one.Runs
	}
	return runs
}

// The client of AG-UI from npm works unchanged: text in pieces, thinking, tool
// calls, approvals as interrupts, and errors. The client checks by itself that
// events are valid and come in an order that makes sense.
func TestAGUIClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	runs := aguiRuns(t, r)
	for _, c := range []struct {
		name     string
		outcomes []string
		text     string // of the assistant, after the last run
	}{
		{"text", []string{"RUN_FINISHED success"}, "You said: slowly, in several pieces"},
		{"thinking", []string{"RUN_FINISHED success"}, "Thought."},
		{"approve", []string{"RUN_FINISHED interrupt", "nothing", "RUN_FINISHED success", "RUN_FINISHED success"}, "It says: built|You said: thank you"},
		{"deny", []string{"RUN_FINISHED interrupt", "RUN_FINISHED success"}, "It says: PreToolUse:Bash hook error: not today"},
		{"cancel", []string{"RUN_FINISHED interrupt", "RUN_FINISHED success"}, "It says: PreToolUse:Bash hook error: ada does not allow this."},
		{"edit", []string{"RUN_FINISHED interrupt", "RUN_FINISHED success"}, "It says: built"},
		{"parallel", []string{"RUN_FINISHED interrupt", "RUN_FINISHED interrupt", "RUN_FINISHED success"}, ""},
		{"question", []string{"RUN_FINISHED interrupt", "RUN_FINISHED success"}, ""},
		{"undecided", []string{"RUN_FINISHED interrupt", "nothing", "RUN_FINISHED success"}, "It says: built"},
		{"stale", []string{"RUN_FINISHED interrupt", "RUN_ERROR already-decided"}, ""},
		{"again", []string{"RUN_FINISHED success", "RUN_FINISHED success"}, "You said: slowly, and once"},
		{"subagent", []string{"RUN_FINISHED interrupt", "RUN_FINISHED interrupt", "RUN_FINISHED interrupt", "RUN_FINISHED success", "RUN_FINISHED success"}, ""},
		{"fails", []string{"RUN_ERROR failed"}, ""},
		{"image", []string{"RUN_FINISHED success"}, "You said: look"},
		{"empty", []string{"nothing"}, ""},
		{"preset", []string{"nothing"}, ""},
		{"nobody", []string{"nothing"}, ""},
	} {
		seen := runs[c.name]
		if len(seen) != len(c.outcomes) {
			t.Errorf("%s: %d runs", c.name, len(seen))
			continue
		}
		for i := range seen {
			if got := seen[i].outcome(); got != c.outcomes[i] {
				t.Errorf("%s, run %d ended with %s %q, want %s", c.name, i, got, seen[i].Error, c.outcomes[i])
			}
			if success := strings.HasPrefix(c.outcomes[i], "RUN_FINISHED"); success && seen[i].Error != "" {
				t.Errorf("%s, run %d: the client complains: %s", c.name, i, seen[i].Error)
			}
		}
		if got := seen[len(seen)-1].text("assistant"); c.text != "" && got != c.text {
			t.Errorf("%s: the client shows %q, want %q", c.name, got, c.text)
		}
	}
	if t.Failed() {
		return
	}
	checkAGUIDetails(t, r, runs)
}

// checkAGUISubagent checks how a subagent that asks a person is shown, in the runs
// before and after the decision, and the list that the model keeps.
func checkAGUISubagent(t *testing.T, runs []aguiSeen) {
	t.Helper()
	var told []string
	for i := range runs {
		for _, e := range runs[i].Events {
			switch e.Type {
			case "SUBAGENT_STARTED":
				told = append(told, fmt.Sprintf("%d: %s begins %q", i, e.Name, e.Description))
				if e.SubagentRunID == "" || e.ParentToolCallID != e.SubagentRunID || e.ParentMessageID == "" {
					t.Errorf("the subagent begins with %+v", e)
				}
			case "SUBAGENT_FINISHED":
				told = append(told, fmt.Sprintf("%d: %s %t", i, e.Outcome.Type, strings.Contains(fmt.Sprint(e.Result), "Looks good.")))
			case "STATE_SNAPSHOT":
				told = append(told, fmt.Sprintf("%d: %+v", i, *e.Snapshot))
			}
		}
		if todos := runs[i].State.Todos; i > 1 && len(todos) != 1 || i > 1 && todos[0] != (agui.RunTodo{Text: "Look at it", Active: "Looking at it", Status: "in_progress"}) {
			t.Errorf("run %d: the client has the state %+v", i, runs[i].State)
		}
	}
	const list = "{Todos:[{Text:Look at it Active:Looking at it Status:in_progress}]}"
	want := []string{
		"1: " + list, `1: Explore begins "Look at it"`, "1: suspended false", // a person decides about its call
		`2: Explore begins "Look at it"`, "2: " + list, "2: suspended false", // and about a call of its own
		`3: Explore begins "Look at it"`, "3: " + list, "3: success true",
		"4: " + list,
	}
	if !slices.Equal(told, want) {
		t.Errorf("the client was told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	for _, m := range runs[len(runs)-1].Messages {
		if strings.Contains(string(m.Content), "make inner") {
			t.Errorf("the chat has what the subagent said to itself: %s", m.Content)
		}
	}
}

func checkAGUIDetails(t *testing.T, r *rig, runs map[string][]aguiSeen) {
	t.Helper()
	count := func(s *aguiSeen, kind string) (n int) {
		for _, one := range s.Types {
			if one == kind {
				n++
			}
		}
		return n
	}
	if n := count(&runs["text"][0], "TEXT_MESSAGE_CONTENT"); n < 2 {
		t.Errorf("the text came in %d pieces", n)
	}
	finished := runs["text"][0].Events[len(runs["text"][0].Events)-1]
	if len(finished.Usage) != 1 || finished.Usage[0].Output == 0 || finished.ThreadID != "thread-text" {
		t.Errorf("the end is %+v", finished)
	}
	if got := runs["thinking"][0].text("reasoning"); got != "Let me see." {
		t.Errorf("the client shows the thought %q", got)
	}
	approve := runs["approve"]
	asked := approve[0].Pending
	if len(asked) != 1 || asked[0].Reason != "tool_call" || asked[0].ToolCallID != "toolu_1" || asked[0].Message != "Bash: make 1" || len(asked[0].ResponseSchema) == 0 {
		t.Errorf("asked %+v", asked)
	}
	var calls []agui.RunCall
	for _, m := range approve[3].Messages {
		calls = append(calls, m.ToolCalls...)
	}
	if len(calls) != 1 || calls[0].Function.Name != "Bash" || calls[0].Function.Arguments != `{"command":"make 1"}` || approve[3].text("tool") != "built" {
		t.Errorf("the client has the calls %+v with the result %q", calls, approve[3].text("tool"))
	}
	if len(approve[3].Pending) != 0 {
		t.Errorf("still asked %+v", approve[3].Pending)
	}
	var starts, results int
	for _, s := range runs["parallel"] {
		starts, results = starts+count(&s, "TOOL_CALL_START"), results+count(&s, "TOOL_CALL_RESULT")
	}
	if starts != 2 || results != 2 {
		t.Errorf("two calls of one answer: %d calls and %d results", starts, results)
	}
	if q := runs["question"]; q[0].Pending[0].Reason != "input_required" || !strings.Contains(q[1].text("assistant"), "Blue") {
		t.Errorf("the question %+v was answered: %s", q[0].Pending, q[1].text("assistant"))
	}
	if again := runs["again"]; !slices.Contains(again[1].Types, "MESSAGES_SNAPSHOT") || len(again[1].Messages) != 2 {
		t.Errorf("the repetition was %v and made %+v", again[1].Types, again[1].Messages)
	}
	checkAGUISubagent(t, runs["subagent"])
	for name, want := range map[string]struct {
		status int
		text   string
	}{"empty": {400, "role user"}, "preset": {422, "shop"}, "nobody": {401, "bearer"}} {
		if got := runs[name][0]; got.Status != want.status || !strings.Contains(got.Error, want.text) {
			t.Errorf("%s: status %d, %s", name, got.Status, got.Error)
		}
	}
	if got := runs["undecided"][1]; got.Status != 400 || !strings.Contains(got.Error, "approved is missing") {
		t.Errorf("without a decision: %d %s", got.Status, got.Error)
	}
	if !strings.Contains(runs["fails"][0].Error+runs["fails"][0].Events[len(runs["fails"][0].Events)-1].Message, "overloaded") {
		t.Errorf("the error is %q", runs["fails"][0].Error)
	}
	ran := r.agent.ran()
	slices.Sort(ran)
	if want := []string{`{"command":"make 1"}`, `{"command":"make 5"}`, `{"command":"make inner"}`, `{"command":"make safe"}`, `{"command":"make"}`}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	// What the client calls a thread is a conversation like any other.
	ada := r.as("ada", api.RoleOperator)
	list := get[api.List[api.Conversation]](ada, "/v1/conversations?q=slowly")
	if len(list.Items) != 2 || list.Items[0].Preset != "shop" {
		t.Errorf("the conversations are %+v", list.Items)
	}
}

// aguiRun makes a run without a client, and returns its events.
func (c *client) aguiRun(input string, headers ...string) []agui.RunEvent {
	c.t.Helper()
	got := c.do("POST", "/ag-ui/shop", input, headers...)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("status %d: %s", got.status, got.body)
	}
	var all []agui.RunEvent
	for line := range strings.SplitSeq(string(got.body), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e agui.RunEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				c.t.Fatalf("%v: %s", err, data)
			}
			all = append(all, e)
		}
	}
	return all
}

// A thread belongs to its user: another user's thread of the same name is another
// conversation, and no user answers the interrupts of others.
func TestAGUIThreadsArePrivate(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada, eve := r.as("ada", api.RoleOperator), r.as("eve", api.RoleOperator)
	const run = `{"threadId":"main","runId":"r","messages":[{"id":"1","role":"user","content":"tool 1"}],"tools":[],"context":[],"later":{}}`
	events := ada.aguiRun(run)
	asked := events[len(events)-1].Outcome.Interrupts
	if len(asked) != 1 {
		t.Fatalf("%+v", events)
	}
	own := ada.pending(1)[0].Conversation
	answer := `[{"interruptId":"` + asked[0].ID + `","status":"resolved","payload":{"approved":true}}]`
	if got := eve.do("POST", "/ag-ui/shop", `{"threadId":"main","runId":"r","messages":[],"resume":`+answer+`}`); got.status != http.StatusNotFound {
		t.Errorf("eve resumes a thread that is not hers: %d %s", got.status, got.body)
	}
	theirs := eve.aguiRun(`{"threadId":"` + own + `","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}]}`)
	if last := theirs[len(theirs)-1]; last.Outcome == nil || last.Outcome.Type != "success" {
		t.Errorf("%+v", theirs)
	}
	if list := get[api.List[api.Conversation]](eve, "/v1/conversations"); len(list.Items) != 1 || list.Items[0].ID == own {
		t.Errorf("eve has %+v", list.Items)
	}
	stolen := eve.aguiRun(`{"threadId":"` + own + `","runId":"r","messages":[],"resume":` + answer + `}`)
	if last := stolen[len(stolen)-1]; last.Type != "RUN_ERROR" || last.Code != "not-found" {
		t.Errorf("eve decides: %+v", stolen)
	}
	if got := r.as("kim", api.RoleApprover).do("POST", "/ag-ui/shop", run); got.status != http.StatusForbidden {
		t.Errorf("an approver runs an agent: %d", got.status)
	}
	wrong := strings.Replace(answer, asked[0].ID[len(asked[0].ID)-64:], strings.Repeat("0", 64), 1)
	changed := ada.aguiRun(`{"threadId":"main","runId":"r","messages":[],"resume":` + wrong + `}`)
	if last := changed[len(changed)-1]; last.Code != "changed" {
		t.Errorf("another input than was shown: %+v", last)
	}
	if ran := r.agent.ran(); len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
	done := ada.aguiRun(`{"threadId":"` + own + `","runId":"r","messages":[],"resume":` + answer + `}`)
	if last := done[len(done)-1]; last.Outcome == nil || last.Outcome.Type != "success" {
		t.Errorf("%+v", done)
	}
	if ran := r.agent.ran(); len(ran) != 1 {
		t.Errorf("ran %q", ran)
	}
}

// A faulty run is refused before it begins.
func TestAGUIInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	for name, c := range map[string]struct {
		body   string
		status int
		say    string
	}{
		"not JSON":      {`{`, 400, "not JSON"},
		"no thread":     {`{"runId":"r","messages":[]}`, 400, "threadId"},
		"empty thread":  {`{"threadId":"","runId":"r","messages":[]}`, 400, "threadId"},
		"no messages":   {`{"threadId":"t","runId":"r","messages":[]}`, 400, "role user"},
		"empty text":    {`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"  "}]}`, 400, "empty"},
		"video":         {`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"video","source":{"type":"url","value":"x"}}]}]}`, 400, "text, images and documents"},
		"number":        {`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":7}]}`, 400, "content must be"},
		"unknown state": {`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"a.1.b","status":"maybe"}]}`, 400, "status"},
		"foreign id":    {`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"int-1","status":"resolved","payload":{"approved":true}}]}`, 400, "interrupt"},
		"yes":           {`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"a.1.b","status":"resolved","payload":"yes"}]}`, 400, "approved"},
		"no thread yet": {`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"a.1.b","status":"resolved","payload":{"approved":true}}]}`, 404, "does not exist"},
	} {
		got := ada.do("POST", "/ag-ui/shop", c.body)
		if got.status != c.status || !strings.Contains(string(got.body), c.say) || !strings.Contains(got.header.Get("Content-Type"), "problem+json") {
			t.Errorf("%s: status %d, %s", name, got.status, got.body)
		}
	}
	if got := ada.do("GET", "/ag-ui/shop", nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", got.status)
	}
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations"); len(list.Items) != 0 {
		t.Errorf("bad requests made %+v", list.Items)
	}
}

// A run ends with all questions that wait, and the next answers them together.
func TestAGUIAsksTogether(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	first := ada.pending(1)[0]
	_, err := approval.NewQuestions(db, "p").Ask(t.Context(), approval.Question{
		Conversation: strings.Replace(conversation.ID, "~", "/", 1), Tool: "Bash", ToolUseID: "toolu_sub", Input: json.RawMessage(`{"command":"ls"}`), Agent: "sub", HoldsProcess: true,
	}, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	ada.pending(2)
	events := ada.aguiRun(`{"threadId":"` + conversation.ID + `","runId":"r","messages":[{"id":"1","role":"user","content":"and then?"}]}`)
	var calls []string
	for _, e := range events {
		if e.Type == "TOOL_CALL_START" {
			calls = append(calls, e.ToolCallID)
		}
	}
	asked := events[len(events)-1].Outcome.Interrupts
	if len(asked) != 2 || asked[0].ToolCallID != first.ToolUseID || asked[1].ToolCallID != "toolu_sub" || !slices.Contains(calls, "toolu_sub") {
		t.Fatalf("asked %+v after the calls %v", asked, calls)
	}
	var answers []string
	for _, i := range asked {
		answers = append(answers, `{"interruptId":"`+i.ID+`","status":"resolved","payload":{"approved":true}}`)
	}
	resume := `{"threadId":"` + conversation.ID + `","runId":"r","messages":[{"id":"1","role":"user","content":"and then?"}],"resume":[` + strings.Join(answers, ",") + `]}`
	done := ada.aguiRun(resume)
	if last := done[len(done)-1]; last.Outcome == nil || last.Outcome.Type != "success" {
		t.Errorf("%+v", done)
	}
	var said strings.Builder
	for _, e := range done {
		if e.Type == "TEXT_MESSAGE_CONTENT" {
			said.WriteString(e.Delta)
		}
		if e.Type == "TOOL_CALL_START" {
			t.Errorf("the call %s was shown twice", e.ToolCallID)
		}
	}
	if text := said.String(); !strings.Contains(text, "It says: built") || !strings.Contains(text, "You said: and then?") {
		t.Errorf("both prompts are answered, and the run has %q", text)
	}
	// The same again, as after a lost connection: nothing happens twice.
	again := ada.aguiRun(resume)
	if last := again[len(again)-1]; last.Outcome == nil || last.Outcome.Type != "success" || !slices.ContainsFunc(again, func(e agui.RunEvent) bool { return e.Type == "MESSAGES_SNAPSHOT" && len(e.Messages) >= 5 }) {
		t.Errorf("%+v", again)
	}
	if ran := r.agent.ran(); len(ran) != 1 {
		t.Errorf("ran %q", ran)
	}
}

// A page of another site gets in only if it is named, only to AG-UI, and only
// with a bearer token.
func TestAGUIOrigins(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) {
		o.Origins = []string{"https://app.example"}
		o.ProxyHeader, o.ProxyFrom = "Remote-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	ada, nobody := r.as("ada", api.RoleOperator), &client{rig: r}
	link, err := r.server.LoginLink(t.Context(), r.http.URL, api.User{Name: "ada", Role: api.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(link, "#t=")
	cookie, _, _ := strings.Cut(nobody.do("POST", "/v1/login", api.LoginRequest{Token: token}).header.Get("Set-Cookie"), ";")
	const run = `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}]}`
	for _, c := range []struct {
		who            *client
		method, path   string
		origin, header string
		status         int
		may            bool
	}{
		{nobody, "OPTIONS", "/ag-ui/shop", "https://app.example", "", 204, true},
		{ada, "POST", "/ag-ui/shop", "https://app.example", "", 200, true},
		{nobody, "POST", "/ag-ui/shop", "https://app.example", "Cookie", 401, true},
		{nobody, "POST", "/ag-ui/shop", "https://app.example", "Remote-User", 401, true},
		{nobody, "POST", "/ag-ui/shop", "", "Cookie", 200, false},
		{ada, "POST", "/ag-ui/shop", "https://evil.example", "", 403, false},
		{nobody, "OPTIONS", "/ag-ui/shop", "https://evil.example", "", 405, false},
		{ada, "POST", "/v1/conversations", "https://app.example", "", 403, false},
	} {
		var body any
		if c.method == "POST" {
			body = run
		}
		headers := []string{"Sec-Fetch-Site", "cross-site"}
		if c.origin == "" {
			headers = []string{"Sec-Fetch-Site", "same-origin"}
		} else {
			headers = append(headers, "Origin", c.origin)
		}
		switch c.header {
		case "Cookie":
			headers = append(headers, "Cookie", cookie)
		case "Remote-User":
			headers = append(headers, "Remote-User", "ada")
		}
		got := c.who.do(c.method, c.path, body, headers...)
		if got.status != c.status || (got.header.Get("Access-Control-Allow-Origin") == c.origin && c.origin != "") != c.may || got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s from %q with %q: status %d, %v", c.method, c.path, c.origin, c.header, got.status, got.header)
		}
	}
	for _, origin := range []string{"*", "app.example", "https://app.example/", "https://App.example", "null", ""} {
		if _, err := serve.New(r.fleet, serve.Options{Records: r.db, Project: "p", Origins: []string{origin}}); err == nil {
			t.Errorf("the origin %q was taken", origin)
		}
	}
}

// A form of an MCP server is an interrupt with its schema, and the answer has its
// types.
func TestAGUIForm(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	first := ada.pending(1)[0]
	q, err := approval.NewQuestions(db, "p").Ask(t.Context(), approval.Question{
		Conversation: strings.Replace(conversation.ID, "~", "/", 1), Tool: approval.ElicitationTool, ToolUseID: "elicitation-1", HoldsProcess: true, Reason: "How many?",
		Input: json.RawMessage(`{"mcp_server_name":"crm","message":"How many?","requested_schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}`),
	}, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	shown := get[api.Approval](ada, "/v1/approvals/"+q.ID)
	if shown.Form == nil || shown.Form.Server != "crm" || len(shown.Form.Fields) != 1 || shown.Form.Fields[0].Name != "n" || shown.Form.Fields[0].Kind != "integer" || !shown.Form.Fields[0].Required {
		t.Errorf("%+v", shown.Form)
	}
	thread := `{"threadId":"` + conversation.ID + `","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}]`
	events := ada.aguiRun(thread + `}`)
	asked := events[len(events)-1].Outcome.Interrupts
	if len(asked) != 2 || asked[1].Reason != "input_required" || !strings.Contains(string(asked[1].ResponseSchema), `"n":{"type":"integer"}`) || asked[1].ToolCallID != "" {
		t.Fatalf("%+v", asked)
	}
	answer := func(n string) []agui.RunEvent {
		return ada.aguiRun(thread + `,"resume":[{"interruptId":"` + asked[0].ID + `","status":"cancelled"},{"interruptId":"` + asked[1].ID + `","status":"resolved","payload":{"approved":true,"input":{"n":` + n + `}}}]}`)
	}
	wrong := answer(`"many"`)
	if last := wrong[len(wrong)-1]; last.Type != "RUN_ERROR" || last.Code != "bad-request" {
		t.Errorf("%+v", last)
	}
	done := answer(`7`)
	if last := done[len(done)-1]; last.Outcome == nil || last.Outcome.Type != "success" {
		t.Errorf("%+v", last)
	}
	decided := get[api.Approval](ada, "/v1/approvals/"+q.ID)
	if a := get[api.Approval](ada, "/v1/approvals/"+first.ID); a.State != api.ApprovalDenied || decided.State != api.ApprovalAnswered {
		t.Errorf("%s and %s", a.State, decided.State)
	}
}
