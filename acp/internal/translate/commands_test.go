package translate

import (
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/control"
)

// TestCommands lists commands as editors know them from the npm adapter: prompts of MCP
// servers in one word, and none that is of no use to an editor.
func TestCommands(t *testing.T) {
	var commands []control.Command
	for _, name := range []string{"compact", "clear", "s:greet (MCP)", "login", "clear-cache", "review"} {
		commands = append(commands, control.Command{Name: name})
	}
	var got []string
	for _, c := range Commands(commands).AvailableCommandsUpdate.AvailableCommands {
		got = append(got, c.Name)
	}
	if want := []string{"compact", "mcp:s:greet", "clear-cache", "review"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

// TestTyped gives the CLI its own name for the prompt of an MCP server.
func TestTyped(t *testing.T) {
	for text, want := range map[string]string{
		"/mcp:s:greet":                   "/s:greet (MCP)",
		"/mcp:s:greet Ada and Bob":       "/s:greet (MCP) Ada and Bob",
		"/mcp:s:greet Ada\nand Bob":      "/s:greet (MCP) Ada\nand Bob",
		"/mcp:s:of:many":                 "/s:of:many (MCP)",
		"/mcp":                           "/mcp",
		"/mcp:s":                         "/mcp:s",
		"/mcp: s:greet":                  "/mcp: s:greet",
		"/s:greet (MCP) Ada":             "/s:greet (MCP) Ada",
		"Say /mcp:s:greet":               "Say /mcp:s:greet",
		"/mcp:s:greet $1 costs ${0} now": "/s:greet (MCP) $1 costs ${0} now",
		"/compact":                       "/compact",
	} {
		if got := Typed(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
