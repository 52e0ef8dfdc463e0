package acp

import (
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// promptResponse is how a turn ended on a server, in the words of the protocol: with the
// same kinds, and what it has used, as a turn on this machine.
func promptResponse(end remoteEnd) (*schema.PromptResponse, error) {
	if end.err != nil {
		return nil, problem(end.err)
	}
	t := end.turn
	reason := schema.StopReasonEndTurn
	switch {
	case t.State == api.PromptExpired:
		return nil, errorf(schema.ErrorCodeInternalError, "the turn ended because nobody decided about a call in time: send the prompt again")
	case t.State == api.PromptCancelled, t.Failure == api.FailureInterrupted:
		reason = schema.StopReasonCancelled
	case t.Failure == api.FailureMaxTurns:
		reason = schema.StopReasonMaxTurnRequests
	case t.StopReason == "refusal":
		reason = schema.StopReasonRefusal
	case t.State == api.PromptFailed:
		return nil, turnError(apiErrorOf(t), failureText(t))
	case t.StopReason == "max_tokens":
		reason = schema.StopReasonMaxTokens
	}
	return withSpent(reason, end), nil
}

// withSpent returns how a turn ended, with its usage if that is known: the usage is
// unknown when the end was missed and looked up later.
func withSpent(reason schema.StopReason, end remoteEnd) *schema.PromptResponse {
	var spent spending
	known := false
	for _, t := range append(end.earlier[:len(end.earlier):len(end.earlier)], end.turn) {
		if t != nil && !t.Ended.IsZero() && t.PartOf == "" {
			known, spent = true, spent.plus(spentIn(t))
		}
	}
	if !known {
		return &schema.PromptResponse{StopReason: reason}
	}
	return spent.response(reason)
}

// cancelledResponse is the end of a turn that the editor has cancelled. The zero end is
// that of one which did not report it.
func cancelledResponse(end remoteEnd) *schema.PromptResponse {
	return withSpent(schema.StopReasonCancelled, end)
}

// spentIn returns the tokens of a turn on a server, for all its models together.
func spentIn(t *api.Turn) spending {
	models := make(map[string]message.ModelUsage, len(t.Models))
	for name, u := range t.Models {
		models[name] = message.ModelUsage(u)
	}
	return ofModels(models)
}

// apiErrorOf returns the class of the API error that ended a turn, empty if something else
// did.
func apiErrorOf(t *api.Turn) message.AssistantError {
	if t.Failure == api.FailureInterrupted || strings.HasPrefix(t.Failure, "error_") {
		return ""
	}
	return message.AssistantError(t.Failure)
}

// failureText is why a turn failed. A server's text begins with the words of this module's
// own error, which would come twice.
func failureText(t *api.Turn) string { return strings.TrimPrefix(t.Error, "claude: turn failed: ") }
