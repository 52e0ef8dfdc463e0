package eventlog

import (
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// TakeTicket sets the state of a prompt to that of a ticket.
func TakeTicket(p *api.Prompt, t *fleet.Ticket) {
	p.State, p.Approval = api.PromptState(t.Status), t.Question
	p.Problem, p.Error = FailureOf(t.Cause, t.Error)
}

// StandsAs reports whether a prompt is as far along as a ticket.
func StandsAs(p *api.Prompt, t *fleet.Ticket) bool {
	now := *p
	TakeTicket(&now, t)
	return now == *p
}

// FailureOf returns the causes that people can fix on the server, with advice. Of any
// other, only the fleet's text is known.
func FailureOf(c fleet.Cause, text string) (api.Cause, string) {
	switch c {
	case fleet.CauseCLIMissing:
		return api.CauseCLIMissing, MissingAdvice
	case fleet.CauseCLIFailed:
		return api.CauseCLIFailed, "The CLI does not start on the server, or ends too early: fix what it reports, then retry. " + text
	case fleet.CauseOptionRefused:
		return api.CauseOptionRefused, "The server gives this conversation an option that cannot be used: correct it, then retry. " + text
	case fleet.CauseOptionsFailed:
		return api.CauseOptionsFailed, "The server could not make the options of this conversation: fix what it reports, then retry. " + text
	}
	return "", text
}

// MissingAdvice helps with a missing CLI.
const MissingAdvice = "The Claude Code CLI is not installed on the server: install it with npm install -g @anthropic-ai/claude-code, then retry."

// failureKind is why a turn failed, in the words of the CLI. A limit that ended the turn
// comes before an API error, from which the turn may have recovered.
func failureKind(t *fleet.Ticket) string {
	switch {
	case t.Status != fleet.PromptFailed:
		return ""
	case t.Interrupted:
		return api.FailureInterrupted
	case t.Result != nil && (t.Result.Subtype == message.ResultErrorMaxTurns || t.Result.Subtype == message.ResultErrorMaxBudget):
		return t.Result.Subtype
	case t.APIError != "":
		return string(t.APIError)
	case t.Result != nil && t.Result.Subtype != message.ResultSuccess:
		return t.Result.Subtype
	}
	return ""
}
