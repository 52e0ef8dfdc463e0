package serve

import (
	"fmt"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// failureOf returns the causes that people can fix on the server, with advice. Of any
// other, only the fleet's text is known.
func failureOf(c fleet.Cause, text string) (api.Cause, string) {
	switch c {
	case fleet.CauseCLIMissing:
		return api.CLIMissing, missingAdvice
	case fleet.CauseCLIFailed:
		return api.CLIFailed, "The CLI does not start on the server, or ends too early: fix what it reports, then retry. " + text
	}
	return "", text
}

// missingAdvice helps with a missing CLI.
const missingAdvice = "The Claude Code CLI is not installed on the server: install it with npm install -g @anthropic-ai/claude-code, then retry."

// heldAdvice explains why the prompts of a conversation wait.
func heldAdvice(info *fleet.ConversationInfo) string {
	if !info.HeldUntil.IsZero() {
		return fmt.Sprintf("The budget of the day, $%.2f, is spent: its prompts are kept, and run after midnight UTC.", info.BudgetUSD)
	}
	if info.BudgetUSD == 0 {
		return "The limits of this conversation are not valid on the server: its prompts are kept, and run once they are."
	}
	return fmt.Sprintf("This conversation has cost $%.2f of the $%.2f that it may: its prompts are kept, and run once it may cost more.", info.Cost.USD, info.BudgetUSD)
}

// failureKind is why a turn failed, in the words of the CLI.
func failureKind(t *fleet.Ticket) string {
	switch {
	case t.Status != fleet.PromptFailed:
		return ""
	case t.Interrupted:
		return api.FailureInterrupted
	case t.APIError != "":
		return string(t.APIError)
	case t.Result != nil && t.Result.Subtype != message.ResultSuccess:
		return t.Result.Subtype
	}
	return ""
}
