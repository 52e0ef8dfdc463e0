package main

import (
	"context"
	"testing"

	"github.com/claude-agent-go/claude/acp/acptest"
	"github.com/claude-agent-go/claude/claudetest"
)

func TestAgent(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	cli := claudetest.New(
		claudetest.UseTool("mcp__tickets__read", Ticket{"7"}),
		claudetest.UseTool("Bash", map[string]string{"command": "git push"}),
		claudetest.Say("It should be green."),
	)
	d := acptest.Start(t, agent(cli), acptest.Setup{Permission: func(context.Context, acptest.Question) string {
		return "allow-once"
	}})
	id := d.New(t.TempDir())
	if ended, err := d.Prompt(id, "Read ticket 7 and push."); err != nil || ended != "end_turn" {
		t.Fatalf("ended %q, %v", ended, err)
	}
	if got := d.Text(id); got != "It should be green." {
		t.Errorf("said %q", got)
	}
	cli.Recording().WantRan(t, "mcp__tickets__read")
	cli.Recording().WantDenied(t, "Bash", "People push")
}
