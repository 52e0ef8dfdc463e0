package eventlog

import (
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// A turn that a limit has ended failed because of that, even if the API failed in it before.
func TestFailureKind(t *testing.T) {
	t.Parallel()
	ended := func(subtype string) *message.Result {
		r := new(message.Result)
		r.Subtype = subtype
		return r
	}
	for want, ticket := range map[string]fleet.Ticket{
		"":                     {Status: fleet.PromptAnswered, APIError: message.AssistantErrorOverloaded},
		api.FailureInterrupted: {Status: fleet.PromptFailed, Interrupted: true, APIError: message.AssistantErrorOverloaded},
		api.FailureMaxTurns:    {Status: fleet.PromptFailed, APIError: message.AssistantErrorMaxOutputTokens, Result: ended(message.ResultErrorMaxTurns)},
		api.FailureMaxBudget:   {Status: fleet.PromptFailed, APIError: message.AssistantErrorOverloaded, Result: ended(message.ResultErrorMaxBudget)},
		"overloaded":           {Status: fleet.PromptFailed, APIError: message.AssistantErrorOverloaded, Result: ended(message.ResultErrorExecution)},
		api.FailureExecution:   {Status: fleet.PromptFailed, Result: ended(message.ResultErrorExecution)},
	} {
		if got := failureKind(&ticket); got != want {
			t.Errorf("%+v failed with %q, want %q", ticket, got, want)
		}
	}
}
