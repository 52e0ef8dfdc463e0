package acp

import (
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/serve/api"
)

// commandsOf returns commands as a CLI announces them.
func commandsOf(listed []api.Command) []control.Command {
	out := make([]control.Command, len(listed))
	for i, c := range listed {
		out[i] = control.Command{Name: c.Name, Description: c.Description, ArgumentHint: c.Hint, Aliases: c.Aliases, Builtin: c.Builtin}
	}
	return out
}
