package acp

import (
	"encoding/json"
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
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
		code := schema.ErrorCodeInternalError
		if problem == message.AssistantErrorAuthentication {
			code = schema.ErrorCodeAuthenticationRequired
		}
		e := errorf(code, "the turn failed: %s", r.Problem())
		e.Data, _ = jsonx.Marshal(map[string]string{"errorKind": orName(string(problem), "unknown")})
		return nil, e
	}
	return resp, nil
}

// ended returns how a turn ended, with what it has used.
func ended(reason schema.StopReason, r *message.Result) *schema.PromptResponse {
	resp := &schema.PromptResponse{StopReason: reason, Meta: map[string]any{"quota": quota(r)}}
	resp.Extra = map[string]json.RawMessage{"usage": raw(map[string]int{
		"inputTokens": r.Usage.InputTokens, "outputTokens": r.Usage.OutputTokens,
		"cachedReadTokens": r.Usage.CacheReadInputTokens, "cachedWriteTokens": r.Usage.CacheCreationInputTokens,
		"totalTokens": total(r.Usage),
	})}
	return resp
}

// cancelled returns the end of a turn that the editor has cancelled. r is nil if
// the CLI did not report its end.
func cancelled(r *message.Result) *schema.PromptResponse {
	if r == nil {
		return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}
	}
	return ended(schema.StopReasonCancelled, r)
}

func total(u message.Usage) int {
	return u.InputTokens + u.OutputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
}

// quota counts the tokens of a turn in the form that editors know.
func quota(r *message.Result) map[string]any {
	models := []any{}
	for name, u := range r.TurnModelUsage {
		models = append(models, map[string]any{"model": name, "token_count": map[string]int{
			"inputTokens": u.InputTokens, "outputTokens": u.OutputTokens, "cachedInputTokens": u.CacheReadInputTokens,
			"cachedWriteTokens": u.CacheCreationInputTokens, "reasoningOutputTokens": u.ThinkingTokens,
			"totalTokens": u.InputTokens + u.OutputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
		}})
	}
	return map[string]any{"model_usage": models, "token_count": map[string]int{
		"inputTokens": r.Usage.InputTokens, "outputTokens": r.Usage.OutputTokens, "cachedInputTokens": r.Usage.CacheReadInputTokens,
		"cachedWriteTokens": r.Usage.CacheCreationInputTokens, "reasoningOutputTokens": r.Usage.OutputTokensDetails.ThinkingTokens,
		"totalTokens": total(r.Usage),
	}}
}
