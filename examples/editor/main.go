// Command editor is an agent of your own for every editor that speaks the Agent
// Client Protocol: Claude Code with a tool in Go and a rule that always holds.
package main

import (
	"context"
	"log"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/tool"
)

func main() {
	if err := acp.Serve(context.Background(), acp.Stdio(), agent(nil)); err != nil {
		log.Fatal(err)
	}
}

// Ticket is the input of the tool.
type Ticket struct {
	ID string `json:"id" jsonschema:"the number of the ticket"`
}

func agent(cli claude.Transport) *acp.Local {
	tickets := tool.NewServer(tool.New("read", "Read a ticket", func(_ context.Context, t Ticket) (string, error) {
		return "Ticket " + t.ID + ": the button should be green", nil
	}))
	return &acp.Local{
		Title:   "Ticket agent",
		Options: &claude.Options{Transport: cli, MCPServers: claude.MCPServers{"tickets": tickets}, AllowedTools: []string{"mcp__tickets__read"}},
		Policy: func(dir string) permission.Func {
			return policy.MustRules("Bash(git push:*)").At(dir).Deny("People push, agents do not.")
		},
	}
}
