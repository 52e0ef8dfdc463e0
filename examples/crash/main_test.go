package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The program kills itself in a turn, and continues under another home and working
// directory.
func TestRealCrash(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a store")
	mark, never := leak.Processes(t), make(chan struct{})
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch {
		case strings.Contains(c.Prompt, "What was"):
			return claudetest.Say("It was 42.")
		case len(c.Messages) > 1 && strings.Contains(string(c.Raw), "tool_result"):
			return claudetest.Say("too late").Hold(never)
		}
		return claudetest.UseTool("Bash", map[string]any{"command": "ls", "description": "look around"})
	})
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	defer close(never)
	env, _ := realcli.Env(t, url)
	program, _ := realcli.Program(t, env)
	dir := t.TempDir()
	// elsewhere runs the program on another machine.
	elsewhere := func(args ...string) (string, error) {
		env, _ := realcli.Env(t, url)
		_, env = realcli.Program(t, env)
		cmd := exec.Command(program, append([]string{"-store", dir}, args...)...)
		cmd.Env, cmd.Dir = append(env, mark), t.TempDir()
		out, err := cmd.Output()
		return string(out), err
	}
	_, err = elsewhere("-die", "Remember the number 42, and look around.")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() {
		t.Fatalf("the first ended with %v, want that it was killed", err)
	}
	out, err := elsewhere("What was the number?")
	if err != nil || !strings.HasSuffix(out, "It was 42.\n") {
		t.Errorf("the second says %q, %v", out, err)
	}
	calls := model.Calls()
	if heard := string(calls[len(calls)-1].Raw); !strings.Contains(heard, "Remember the number 42") || !strings.Contains(heard, "look around") {
		t.Errorf("the model heard %s", heard)
	}
}
