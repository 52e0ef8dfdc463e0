package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// TestRemoteEnd shows an editor the end of a turn on a server as it shows that of the same
// turn on this machine.
func TestRemoteEnd(t *testing.T) {
	models := map[string]message.ModelUsage{"haiku": {InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4, ThinkingTokens: 1}}
	local := func(subtype string, r message.Result, kind message.AssistantError) string {
		r.Subtype = subtype
		r.Usage = message.Usage{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4}
		r.Usage.OutputTokensDetails.ThinkingTokens, r.TurnModelUsage = 1, models
		return shownEnd(responseOf(&r, kind, nil))
	}
	overloaded := message.Result{IsError: true, Text: "API Error: 529 busy", TerminalReason: message.EndAPIError}
	for name, c := range map[string]struct {
		turn api.Turn
		want string
	}{
		"answered":   {api.Turn{State: api.PromptAnswered, StopReason: "end_turn"}, local(message.ResultSuccess, message.Result{StopReason: "end_turn"}, "")},
		"too long":   {api.Turn{State: api.PromptAnswered, StopReason: "max_tokens"}, local(message.ResultSuccess, message.Result{StopReason: "max_tokens"}, "")},
		"refused":    {api.Turn{State: api.PromptFailed, StopReason: "refusal", Error: "no", Failure: "unknown"}, local(message.ResultSuccess, message.Result{IsError: true, StopReason: "refusal"}, "unknown")},
		"many calls": {api.Turn{State: api.PromptFailed, Failure: api.FailureMaxTurns, Error: "claude: turn failed: error_max_turns"}, local(message.ResultErrorMaxTurns, message.Result{}, "")},
		"interrupted": {api.Turn{State: api.PromptFailed, Failure: api.FailureInterrupted, Error: "claude: turn interrupted"},
			local(message.ResultErrorExecution, message.Result{TerminalReason: message.EndAbortedTools}, "")},
		"overloaded": {api.Turn{State: api.PromptFailed, Failure: "overloaded", Error: "claude: turn failed: " + overloaded.Problem()}, local(message.ResultSuccess, overloaded, message.AssistantErrorOverloaded)},
		"signed out": {api.Turn{State: api.PromptFailed, Failure: "authentication_failed", Error: "claude: turn failed: " + overloaded.Problem()}, local(message.ResultSuccess, overloaded, message.AssistantErrorAuthentication)},
		"no kind":    {api.Turn{State: api.PromptFailed, Error: "claude: turn failed: " + overloaded.Problem()}, local(message.ResultSuccess, overloaded, "")},
		"budget": {api.Turn{State: api.PromptFailed, Failure: api.FailureMaxBudget, Error: "claude: turn failed: error_max_budget_usd"},
			local(message.ResultErrorMaxBudget, message.Result{}, "")},
	} {
		c.turn.Ended, c.turn.Models = time.Unix(1, 0), map[string]api.ModelUsage{"haiku": api.ModelUsage(models["haiku"])}
		if got := shownEnd(promptResponse(remoteEnd{turn: &c.turn})); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	missed := shownEnd(promptResponse(remoteEnd{turn: &api.Turn{State: api.PromptAnswered}}))
	if strings.Contains(missed, "usage") {
		t.Errorf("an end that was missed has used %s", missed)
	}
}

// shownEnd is how a turn ended, in one line.
func shownEnd(resp *schema.PromptResponse, err error) string {
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data)
	}
	data, err := json.Marshal(resp)
	return fmt.Sprint(string(data), err)
}
