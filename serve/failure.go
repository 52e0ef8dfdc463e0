package serve

import (
	"github.com/claude-agent-go/claude/fleet"
)

// failureOf returns the causes that people can fix on the server, and what to do
// about them. For any other, the text of the fleet is all that is known.
func failureOf(c fleet.Cause, text string) (fleet.Cause, string) {
	switch c {
	case fleet.CLIMissing:
		return c, missingAdvice
	case fleet.CLIFailed:
		return c, "The CLI does not start on the server, or ends too early: fix what it reports, then retry. " + text
	}
	return "", text
}

// missingAdvice is what to do without a CLI.
const missingAdvice = "The Claude Code CLI is not installed on the server: install it with npm install -g @anthropic-ai/claude-code, then retry."
