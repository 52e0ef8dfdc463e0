package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
)

func TestApprovals(t *testing.T) {
	suggestion := permission.AllowRule("Write", "", permission.ToSession)
	write := func(path string) claudetest.Reply {
		return claudetest.UseTools(claudetest.ScriptedCall{
			Name: "Write", Input: map[string]string{"file_path": path},
			Request: &permission.Request{Suggestions: []permission.Update{suggestion}},
		})
	}
	bash := func(command string) claudetest.Reply {
		return claudetest.UseTool("Bash", map[string]string{"command": command})
	}
	cli := claudetest.New(bash("rm -r ."), bash("echo hi > hello.txt"), write("hello.txt"), write("again.txt"), bash("go test ./..."), claudetest.Say("Done."))
	var out strings.Builder
	if err := run(t.Context(), strings.NewReader("use the Write tool\na\n"), &out, cli); err != nil {
		t.Fatal(err)
	}
	want := `Bash {"command":"echo hi > hello.txt"}
(y)es, (a)lways, or why not? 
Write {"file_path":"hello.txt"}
(y)es, (a)lways, or why not? 
Done.
`
	if got := strings.ReplaceAll(out.String(), `\u003e`, ">"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	tools := cli.Recording().Tools()
	for i, want := range []struct {
		ran     bool
		message string
	}{{false, "files are removed by hand here"}, {false, "The user says: use the Write tool"}, {true, ""}, {true, ""}, {true, ""}} {
		if got := tools[i]; got.Ran != want.ran || got.Message != want.message {
			t.Errorf("%s %s: ran %v, message %q; want %v, %q", got.Name, got.Input, got.Ran, got.Message, want.ran, want.message)
		}
	}
}

// Without a person to ask, the turn ends and nothing runs.
func TestNobody(t *testing.T) {
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}))
	var out strings.Builder
	err := run(t.Context(), strings.NewReader(""), &out, cli)
	if !errors.Is(err, claude.ErrInterrupted) {
		t.Errorf("error %v, want that of a turn that was interrupted", err)
	}
	if bash := cli.Recording().Tool(t, "Bash"); bash.Ran || bash.Message != "nobody is there to ask" {
		t.Errorf("ran %v, message %q; want it denied", bash.Ran, bash.Message)
	}
}
