package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

// typist types one line for each read.
type typist struct{ lines []string }

func (t *typist) Read(b []byte) (int, error) {
	if len(t.lines) == 0 {
		return 0, io.EOF
	}
	line := t.lines[0] + "\n"
	t.lines = t.lines[1:]
	return copy(b, line), nil
}

// asked puts a request to a person who types these lines, and returns the answer
// as the CLI gets it and what was shown.
func asked(t *testing.T, req *permission.Request, lines ...string) (reply, shown string) {
	t.Helper()
	var stderr bytes.Buffer
	c := newConsole(t.Context(), &typist{lines}, io.Discard, &stderr, nil)
	decision, err := newAsker(c, newScreen(c)).decide(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := decision.Reply(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), stderr.String()
}

func bash(command string) *permission.Request {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &permission.Request{
		ToolName: "Bash", Input: input,
		Suggestions: []permission.Update{permission.AllowRule("Bash", "make", permission.ToSession)},
	}
}

func TestAsk(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  []string // in the reply
	}{
		{"once", []string{"y"}, []string{`"behavior":"allow"`, `"updatedInput":{"command":"make"}`}},
		{"always", []string{"a"}, []string{`"behavior":"allow"`, `"updatedPermissions":[`, `"ruleContent":"make"`}},
		{"no", []string{"n", "not today"}, []string{`"behavior":"deny"`, `"message":"not today"`}},
		{"no, without a reason", []string{"n", ""}, []string{`"behavior":"deny"`, `"message":"the user said no"`}},
		{"edit", []string{"e", `{"command":"make all"}`, "y"}, []string{`"behavior":"allow"`, `"updatedInput":{"command":"make all"}`}},
		{"edit badly, then no", []string{"e", `[]`, "n", "x"}, []string{`"behavior":"deny"`}},
		{"nonsense, then yes", []string{"", "maybe", "YES"}, []string{`"behavior":"allow"`}},
		{"the end of input", nil, []string{`"behavior":"deny"`, "without an answer"}},
		{"the end after no", []string{"n"}, []string{`"behavior":"deny"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply, shown := asked(t, bash("make"), test.lines...)
			for _, want := range test.want {
				if !strings.Contains(reply, want) {
					t.Errorf("reply %s, want %s in it", reply, want)
				}
			}
			if test.name != "always" && strings.Contains(reply, "updatedPermissions") {
				t.Errorf("reply %s remembers something, want nothing", reply)
			}
			if !strings.Contains(shown, `"always" would allow Bash(make), until this session ends`) {
				t.Errorf("shown %q, want what would be remembered", shown)
			}
		})
	}
}

// A CLI that does not want rules to be remembered is not offered any.
func TestAskWithoutAlways(t *testing.T) {
	req := bash("make")
	req.SuppressAlwaysAllow = true
	reply, shown := asked(t, req, "a", "y")
	if strings.Contains(shown, "always") || strings.Contains(reply, "updatedPermissions") {
		t.Errorf("shown %q, reply %s, want no always", shown, reply)
	}
}

// Nothing in an input can look like something else.
func TestAskShowsEverything(t *testing.T) {
	for _, test := range []struct {
		req   *permission.Request
		lines []string
	}{
		{bash("ls\rrm -r /\nfile_path: harmless\n\x1b[2Kecho \u202eno"), []string{`    ls\rrm -r /`, "    file_path: harmless", `    \x1b[2Kecho \u202eno`}},
		{bash(`MY_KEY="$(rm -r /)" ls`), []string{`command: MY_KEY="$(rm -r /)" ls`}},
		{&permission.Request{ToolName: "X", Input: json.RawMessage(`{"a\ncommand":"ls"}`)}, []string{`a\ncommand: ls`}},
	} {
		_, shown := asked(t, test.req, "y")
		for _, want := range test.lines {
			if !strings.Contains(shown, "  | "+want+"\n") {
				t.Errorf("shown %q, want the line %q", shown, want)
			}
		}
	}
}

func TestAskQuestions(t *testing.T) {
	req := &permission.Request{ToolName: "AskUserQuestion", Input: json.RawMessage(`{"questions":[
		{"question":"Which?","header":"W","multiSelect":true,"options":[{"label":"A"},{"label":"B"},{"label":"C"}]},
		{"question":"Why?","header":"Y","multiSelect":false,"options":[{"label":"D"},{"label":"E"}]}]}`)}
	for _, test := range []struct {
		lines []string
		want  string
	}{
		{[]string{"1, 3", "2"}, `"answers":{"Which?":"A, C","Why?":"E"}`},
		{[]string{"", "2", "because"}, `"answers":{"Which?":"B","Why?":"because"}`},
		{[]string{"4", "1,2"}, `"answers":{"Which?":"4","Why?":"1,2"}`},
	} {
		if reply, _ := asked(t, req, test.lines...); !strings.Contains(reply, test.want) {
			t.Errorf("%q: reply %s, want %s in it", test.lines, reply, test.want)
		}
	}
}

// onQuestion is a screen that calls a function when it shows a question.
type onQuestion func()

func (f onQuestion) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "Allow?") {
		f()
	}
	return len(b), nil
}

// A question whose context ends is abandoned, and text typed for it later does
// not answer the next one.
func TestAskGivenUp(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := newConsole(t.Context(), r, io.Discard, onQuestion(cancel), nil)
	a := newAsker(c, newScreen(c))
	if _, err := a.decide(ctx, bash("make")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	if _, err := w.Write([]byte("y\n")); err != nil { // the one waiting reads it
		t.Fatal(err)
	}
	late := <-a.keys.lines
	a.keys.lines <- late
	done := make(chan permission.Decision)
	go func() {
		d, _ := a.decide(t.Context(), bash("rm -r /"))
		done <- d
	}()
	for _, line := range []string{"n\n", "no\n"} {
		if _, err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if d := <-done; d.Behavior() != permission.BehaviorDeny {
		t.Errorf("got %v, want a denial: the line before was for another question", d.Behavior())
	}
}

// Everything is said once, whatever the CLI adds to the input, and what would be
// remembered is said last.
func TestAskOnce(t *testing.T) {
	req := bash("go test ./parser")
	req.Input = json.RawMessage(`{"command":"go test ./parser","description":"Run the tests"}`)
	req.Title, req.Description, req.Reason = "Run go test ./parser?", "Run the tests", "no rule allows it"
	req.Suggestions = []permission.Update{
		permission.AllowRule("Bash", "go test *", permission.ToLocalSettings),
		permission.SetMode(permission.ModeAcceptEdits, permission.ToSession),
	}
	_, shown := asked(t, req, "y")
	want := `
Claude wants to use Bash
  | command: go test ./parser
  | description: Run the tests
  why asked: no rule allows it
  "always" would allow Bash(go test *), for you, in this project (.claude/settings.local.json)
             and allow all edits of files, until this session ends
Allow? [y once, a always, n no, e edit] `
	if shown != want {
		t.Errorf("shown %s\nwant %s", shown, want)
	}
	page, err := os.ReadFile("../../docs/claudectl.md")
	if err != nil || !strings.Contains(string(page), strings.TrimSpace(shown)+"\n```") {
		t.Errorf("docs/claudectl.md does not show the prompt as it is, %v", err)
	}
}

// What was edited is shown before it is allowed, can be edited again, and is
// never remembered.
func TestAskEdited(t *testing.T) {
	reply, shown := asked(t, bash("make"), "e", `{"command":"make a"}`, "a", "e", `{"command":"make b"}`, "y")
	if !strings.Contains(reply, `"updatedInput":{"command":"make b"}`) || strings.Contains(reply, "updatedPermissions") {
		t.Errorf("reply %s, want the second edit and nothing remembered", reply)
	}
	for _, want := range []string{"  | command: make a\n", `"a" is not an answer. Type y, n or e.`, "  | command: make b\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("shown %q, want %q in it", shown, want)
		}
	}
}

// The permissions that would be remembered are described in words, with their
// scope and duration.
func TestUpdateText(t *testing.T) {
	for _, test := range []struct {
		update permission.Update
		want   string
	}{
		{permission.AllowRule("Bash", "", permission.ToUserSettings), "allow Bash, for you, in every project (~/.claude/settings.json)"},
		{permission.DenyRule("Read", "/etc", permission.ToProjectSettings), "deny Read(/etc), for everyone in this project (.claude/settings.json)"},
		{permission.SetMode(permission.ModeBypassPermissions, permission.ToSession), "allow everything, until this session ends"},
		{permission.SetMode("new", permission.ToSession), "switch to the permission mode new, until this session ends"},
		{permission.AddDirectories(permission.ToSession, "/a", "/b"), "let tools work in /a, /b, until this session ends"},
		{permission.Update{Type: permission.UpdateRemoveRules, Behavior: permission.BehaviorAsk, Rules: []permission.Rule{{ToolName: "Bash"}}, Destination: "elsewhere"}, "take away the rule to ask about Bash (elsewhere)"},
		{permission.Update{Type: "new", Raw: json.RawMessage(`{"type":"new"}`)}, `change the permissions: {"type":"new"}`},
	} {
		if got := updateText(test.update); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
