package acp

import (
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// responseOf returns how a turn ended, with what its prompt has used, or the error that the
// editor gets. problem is the class of an API error that the CLI has named.
func responseOf(r *message.Result, spent spending, problem message.AssistantError, err error) (*schema.PromptResponse, error) {
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
	resp := spent.response(schema.StopReasonEndTurn)
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

// usedBy returns the tokens used since the previous result, by all models, because
// subagents may use others.
func usedBy(r *message.Result) spending {
	if len(r.TurnModelUsage) > 0 {
		return ofModels(r.TurnModelUsage)
	}
	u := r.Usage // an older CLI does not count by models
	return spending{
		input: u.InputTokens, output: u.OutputTokens, thinking: u.OutputTokensDetails.ThinkingTokens,
		read: u.CacheReadInputTokens, written: u.CacheCreationInputTokens,
	}
}

// with adds a result to the usage of a prompt, unless it ends the turn of a background
// agent that finished in the meantime.
func (s spending) with(r *message.Result) spending {
	if r.Origin != nil && r.Origin.Kind == message.OriginTaskNotification {
		return s
	}
	return s.plus(usedBy(r))
}

// cancelled returns the end of a turn that the editor has cancelled, with what its prompt has
// used. r is nil if the CLI did not report the end.
func cancelled(r *message.Result, spent spending) *schema.PromptResponse {
	if r == nil {
		return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}
	}
	return spent.response(schema.StopReasonCancelled)
}
