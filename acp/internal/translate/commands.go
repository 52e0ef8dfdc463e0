package translate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// Commands returns the update that lists slash commands. A prompt of an MCP server, which
// the CLI calls "server:prompt (MCP)", is "mcp:server:prompt", as in the npm adapter:
// editors take a blank for the end of a command's name. Typed turns it back.
func Commands(commands []control.Command) schema.SessionUpdate {
	list := []schema.AvailableCommand{}
	for _, c := range commands {
		if hidden(c.Name) {
			continue
		}
		a := schema.AvailableCommand{Name: c.Name, Description: c.Description}
		if prompt, ok := strings.CutSuffix(c.Name, mcpMark); ok {
			a.Name = "mcp:" + prompt
		}
		if c.ArgumentHint != "" {
			a.Input = &schema.AvailableCommandInput{Hint: &c.ArgumentHint}
		}
		list = append(list, a)
	}
	return schema.SessionUpdate{AvailableCommandsUpdate: &schema.AvailableCommandsUpdate{AvailableCommands: list}}
}

// mcpMark ends the CLI's name of a prompt of an MCP server.
const mcpMark = " (MCP)"

// hidden reports whether a command is of no use to an editor, as the npm adapter has it:
// it begins another conversation in the CLI without the editor's knowledge, or it needs
// a terminal.
func hidden(name string) bool {
	return slices.Contains([]string{"clear", "cost", "keybindings-help", "login", "logout", "output-style:new", "release-notes", "todos"}, name)
}

var mcpPrompt = regexp.MustCompile(`(?s)^/mcp:([^:\s]+:\S+)(.*)$`)

// Typed returns a text of a prompt as the CLI reads it, with its name for the prompt of an
// MCP server.
func Typed(text string) string { return mcpPrompt.ReplaceAllString(text, "/$1"+mcpMark+"$2") }
