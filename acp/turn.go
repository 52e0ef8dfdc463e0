package acp

import (
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// responseOf returns how a turn ended, or the error that the editor gets.
// problem is the class of an API error that the CLI has named.
func responseOf(r *message.Result, problem message.AssistantError, err error) (*schema.PromptResponse, error) {
	switch {
	case r == nil && err == nil:
		err = claude.ErrNoResult
		fallthrough
	case r == nil:
		if errors.Is(err, claude.ErrCancelled) {
			return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}, nil
		}
		return nil, errorf(schema.ErrorCodeInternalError, "the turn did not end: %v; open the session again with session/load", err)
	}
	resp := ended(schema.StopReasonEndTurn, r)
	switch {
	case r.Interrupted():
		resp.StopReason = schema.StopReasonCancelled
	case r.Subtype == message.ResultErrorMaxTurns:
		resp.StopReason = schema.StopReasonMaxTurnRequests
	case r.StopReason == "refusal":
		resp.StopReason = schema.StopReasonRefusal
	case r.StopReason == "max_tokens" && !r.Failed():
		resp.StopReason = schema.StopReasonMaxTokens
	case r.Failed():
		return nil, turnError(problem, r.Problem())
	}
	return resp, nil
}

// turnError is the error of a turn that failed, with its kind as editors know it.
func turnError(kind message.AssistantError, text string) *schema.Error {
	code := schema.ErrorCodeInternalError
	if kind == message.AssistantErrorAuthentication {
		code = schema.ErrorCodeAuthenticationRequired
	}
	e := errorf(code, "the turn failed: %s", text)
	e.Data = raw(map[string]string{"errorKind": orName(string(kind), "unknown")})
	return e
}

// ended returns how a turn ended, with what it has used.
func ended(reason schema.StopReason, r *message.Result) *schema.PromptResponse {
	return usedBy(r).response(reason)
}

// usedBy returns what a result says that was used since the one before it: by all models, as
// subagents may have others.
func usedBy(r *message.Result) spending {
	if len(r.TurnModelUsage) > 0 {
		return ofModels(r.TurnModelUsage)
	}
	u := r.Usage // all that a CLI says which does not count by models
	return spending{
		input: u.InputTokens, output: u.OutputTokens, thinking: u.OutputTokensDetails.ThinkingTokens,
		read: u.CacheReadInputTokens, written: u.CacheCreationInputTokens,
	}
}

// with adds a result to what a prompt has used, unless its turn is that of an agent in the
// background which has ended meanwhile.
func (s spending) with(r *message.Result) spending {
	if r.Origin != nil && r.Origin.Kind == message.OriginTaskNotification {
		return s
	}
	return s.plus(usedBy(r))
}

// cancelled returns the end of a turn that the editor has cancelled. r is nil if
// the CLI did not report its end.
func cancelled(r *message.Result) *schema.PromptResponse {
	if r == nil {
		return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}
	}
	return ended(schema.StopReasonCancelled, r)
}
