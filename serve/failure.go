package serve

import (
	"github.com/claude-agent-go/claude/fleet"
)

// FailureKind is the name of a type of problem, without /problems/, for what keeps
// a conversation from going on.
type FailureKind string

// The kinds of failures that people can mend on the server.
const (
	FailureCLIMissing FailureKind = "cli-missing" // the CLI is not installed where the conversation runs
	FailureCLIFailed  FailureKind = "cli-failed"  // it does not start, or ends before its turn does
)

// failureOf says which kind of failure it is, and what to do about it. For every other
// kind the text of the fleet is all there is.
func failureOf(c fleet.Cause, text string) (FailureKind, string) {
	switch c {
	case fleet.CLIMissing:
		return FailureCLIMissing, missingAdvice
	case fleet.CLIFailed:
		return FailureCLIFailed, "The CLI does not start on the server, or ends too early: mend what it says, then retry. " + text
	}
	return "", text
}

// missingAdvice is what to do without a CLI.
const missingAdvice = "The Claude Code CLI is not installed on the server: install it with npm install -g @anthropic-ai/claude-code, then retry."
