package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
		return shownEnd(responseOf(&r, usedBy(&r), kind, nil))
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

// TestRemoteSpentAltogether counts the tokens of all turns that a prompt of an editor had on
// a server: those of messages that steered it, and those before a cancel. What another turn
// took in has no cost of its own.
func TestRemoteSpentAltogether(t *testing.T) {
	used := func(state api.PromptState, model string, tokens int) remoteEnd {
		return remoteEnd{turn: &api.Turn{State: state, Ended: time.Unix(1, 0), Models: map[string]api.ModelUsage{model: {InputTokens: tokens, OutputTokens: 1}}}}
	}
	taken := remoteEnd{turn: &api.Turn{State: api.PromptAnswered, PartOf: "p", Ended: time.Unix(1, 0)}}
	first := used(api.PromptAnswered, "haiku", 1)
	for name, c := range map[string]struct {
		end    remoteEnd
		cancel bool
		want   string
	}{
		"steered":             {first.after(used(api.PromptAnswered, "haiku", 2)).after(taken).after(used(api.PromptAnswered, "opus", 4)), false, "end_turn 7+3 haiku 3+2 opus 4+1 "},
		"taken back":          {first.after(remoteEnd{}), false, "end_turn 1+1 haiku 1+1 "},
		"cancelled":           {first.cancelledWith(used(api.PromptFailed, "opus", 4)), true, "cancelled 5+2 haiku 1+1 opus 4+1 "},
		"cancelled at once":   {remoteEnd{}.cancelledWith(used(api.PromptFailed, "opus", 4)), true, "cancelled 4+1 opus 4+1 "},
		"cancelled, taken in": {remoteEnd{}.cancelledWith(taken), true, "cancelled "},
		"cancelled, no end":   {remoteEnd{}.cancelledWith(remoteEnd{}), true, "cancelled "},
		"the end was missed":  {first.after(remoteEnd{turn: &api.Turn{State: api.PromptAnswered}}), false, "end_turn 1+1 haiku 1+1 "},
		"cancelled, and lost": {first.cancelledWith(remoteEnd{err: errors.New("lost")}), true, "cancelled 1+1 haiku 1+1 "},
	} {
		resp := cancelledResponse(c.end)
		if !c.cancel {
			var err error
			if resp, err = promptResponse(c.end); err != nil {
				t.Fatal(name, err)
			}
		}
		if got := usedAs(t, resp); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestLocalSpent counts what subagents have used, whose models may be others, and all of it
// with a CLI that does not count by models.
func TestLocalSpent(t *testing.T) {
	by := &message.Result{Usage: message.Usage{InputTokens: 1, OutputTokens: 1}, TurnModelUsage: map[string]message.ModelUsage{"haiku": {InputTokens: 2, OutputTokens: 1}, "opus": {InputTokens: 1, OutputTokens: 1}}}
	plain := &message.Result{Usage: message.Usage{InputTokens: 5, OutputTokens: 1}}
	agent := &message.Result{Usage: message.Usage{InputTokens: 100, OutputTokens: 10}, Origin: &message.Origin{Kind: message.OriginTaskNotification}}
	for want, s := range map[string]spending{
		"end_turn 3+2 haiku 2+1 opus 1+1 ": usedBy(by),
		"end_turn 5+1 ":                    usedBy(plain),
		"end_turn 6+4 haiku 4+2 opus 2+2 ": usedBy(by).plus(usedBy(by)),
		"end_turn 8+3 haiku 2+1 opus 1+1 ": usedBy(plain).plus(usedBy(by)),
		"end_turn 10+2 ":                   spending{}.with(plain).with(agent).with(plain),
	} {
		if got := usedAs(t, s.response(schema.StopReasonEndTurn)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if u := by.TurnModelUsage["haiku"]; u.InputTokens != 2 {
		t.Errorf("the result was changed: %+v", u)
	}
}

// usedAs is how a turn ended, with the tokens in and out that it says, also by models.
func usedAs(t *testing.T, resp *schema.PromptResponse) string {
	t.Helper()
	var told struct {
		StopReason string
		Usage      *struct{ InputTokens, OutputTokens int }
		Meta       struct {
			Quota struct {
				Models []struct {
					Model string
					Count struct{ InputTokens, OutputTokens int } `json:"token_count"`
				} `json:"model_usage"`
			}
		} `json:"_meta"`
	}
	data, err := json.Marshal(resp)
	if err == nil {
		err = json.Unmarshal(data, &told)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := told.StopReason + " "
	if told.Usage != nil {
		out += fmt.Sprintf("%d+%d ", told.Usage.InputTokens, told.Usage.OutputTokens)
	}
	models := told.Meta.Quota.Models
	slices.SortFunc(models, func(a, b struct {
		Model string
		Count struct{ InputTokens, OutputTokens int } `json:"token_count"`
	}) int {
		return strings.Compare(a.Model, b.Model)
	})
	for _, m := range models {
		out += fmt.Sprintf("%s %d+%d ", m.Model, m.Count.InputTokens, m.Count.OutputTokens)
	}
	return out
}

// shownEnd is how a turn ended, in one line.
func shownEnd(resp *schema.PromptResponse, err error) string {
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data)
	}
	data, err := json.Marshal(resp)
	return fmt.Sprint(string(data), err)
}
