package main

import (
	"os/exec"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The example runs as it stands, against the real CLI with a scripted model.
func TestRealLookup(t *testing.T) {
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	model := claudetest.NewModel(claudetest.UseTool("mcp__db__phone", map[string]string{"Name": "Ada"}), claudetest.Say("It is 555-0100."))
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, url)
	program, env := realcli.Program(t, env)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env, cmd.Dir = env, home
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "It is 555-0100.\n" {
		t.Errorf("%s, %v", out, err)
	}
	calls := model.Calls()
	if got := calls[len(calls)-1].ToolResults; len(got) != 1 || got[0].Text != "555-0100" {
		t.Errorf("results %+v", got)
	}
}
