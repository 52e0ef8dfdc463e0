package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// call runs a hook as a session does and returns the reply.
func call(t *testing.T, h hook.Hook, input, toolUseID string) (string, error) {
	t.Helper()
	return callWith(t, t.Context(), h, input, toolUseID)
}

func callWith(t *testing.T, ctx context.Context, h hook.Hook, input, toolUseID string) (string, error) {
	t.Helper()
	out, err := h.Func(ctx, json.RawMessage(input), toolUseID)
	if err != nil {
		return "", err
	}
	reply, err := hook.Encode(out)
	if err == nil && !jsonx.Valid(reply) {
		t.Errorf("reply is not JSON: %s", reply)
	}
	return string(reply), err
}

func pre(out *hook.PreToolUseOutput) hook.Hook {
	return hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return out, nil })
}

func post(out *hook.PostToolUseOutput) hook.Hook {
	return hook.PostToolUse("", func(context.Context, *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) { return out, nil })
}

func request(d permission.Decision) hook.Hook {
	return hook.PermissionRequest("", func(context.Context, *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
		return hook.Decide(d), nil
	})
}

func TestReply(t *testing.T) {
	allowRewritten := hook.RewriteInput(map[string]any{"a": 1})
	allowRewritten.Decision = hook.PermissionAllow
	tests := []struct {
		name string
		hook hook.Hook
		want string
	}{
		{"deny", pre(hook.DenyTool("no")), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		{"allow", pre(hook.AllowTool("")), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`},
		{"ask", pre(hook.AskTool("sure?")), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}`},
		{"defer", pre(hook.DeferTool()), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}`},
		{"rewrite", pre(allowRewritten), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":1}}}`},
		{"rewrite raw", pre(hook.RewriteInput(json.RawMessage(`{"a":"\ud83d\u003c","n":12345678901234567890123}`))),
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"a":"\ud83d\u003c","n":12345678901234567890123}}}`},
		{"context", pre(&hook.PreToolUseOutput{AdditionalContext: "c"}), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"c"}}`},
		{"empty", pre(&hook.PreToolUseOutput{}), `{}`},
		{"typed nil", pre(nil), `{}`},
		{"common and own part", pre(&hook.PreToolUseOutput{Common: hook.Common{SystemMessage: "m", SuppressOutput: true, TerminalSequence: "t"}, AdditionalContext: "c"}),
			`{"systemMessage":"m","suppressOutput":true,"terminalSequence":"t","hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"c"}}`},
		{"stop", post(&hook.PostToolUseOutput{Common: hook.StopRun("enough")}), `{"continue":false,"stopReason":"enough"}`},
		{"block", post(&hook.PostToolUseOutput{Common: hook.Block("bad")}), `{"decision":"block","reason":"bad"}`},
		{"async", post(&hook.PostToolUseOutput{Common: hook.Async(1500 * time.Microsecond), AdditionalContext: "dropped"}), `{"async":true,"asyncTimeout":2}`},
		{"async without timeout", post(&hook.PostToolUseOutput{Common: hook.Async(0)}), `{"async":true}`},
		{"new output", post(&hook.PostToolUseOutput{UpdatedToolOutput: "x", UpdatedMCPToolOutput: []int{1}, ClassifierContext: "k"}),
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","classifierContext":"k","updatedToolOutput":"x","updatedMCPToolOutput":[1]}}`},
		{"request allow", request(permission.Allow(permission.SetMode(permission.ModePlan, permission.ToSession))),
			`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session"}]}}}`},
		{"request deny", request(permission.DenyAndStop("no")), `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no","interrupt":true}}}`},
		{"request pass", request(permission.Pass()), `{}`},
		{"block prompt", hook.UserPromptSubmit(func(context.Context, *hook.UserPromptSubmitInput) (*hook.PromptOutput, error) {
			return hook.BlockPrompt("no"), nil
		}), `{"decision":"block","reason":"no"}`},
		{"keep going", hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) {
			return hook.KeepGoing("more"), nil
		}), `{"decision":"block","reason":"more"}`},
		{"shared output names its event", hook.PostToolBatch(func(context.Context, *hook.PostToolBatchInput) (*hook.ContextOutput, error) {
			return hook.AddContext("c"), nil
		}), `{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"c"}}`},
		{"elicitation", hook.Elicitation("", func(context.Context, *hook.ElicitationInput) (*hook.ElicitationOutput, error) {
			return &hook.ElicitationOutput{Action: "accept", Content: map[string]string{"name": "n"}}, nil
		}), `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"name":"n"}}}`},
		{"session start", hook.SessionStart("", func(context.Context, *hook.SessionStartInput) (*hook.SessionStartOutput, error) {
			return &hook.SessionStartOutput{InitialUserMessage: "hi", WatchPaths: []string{"a"}, ReloadSkills: true}, nil
		}), `{"hookSpecificOutput":{"hookEventName":"SessionStart","initialUserMessage":"hi","watchPaths":["a"],"reloadSkills":true}}`},
		{"nothing to watch", hook.CwdChanged(func(context.Context, *hook.CwdChangedInput) (*hook.WatchOutput, error) {
			return &hook.WatchOutput{WatchPaths: []string{}}, nil
		}), `{"hookSpecificOutput":{"hookEventName":"CwdChanged","watchPaths":[]}}`},
		{"worktree", hook.WorktreeCreate(func(context.Context, *hook.WorktreeCreateInput) (*hook.WorktreeOutput, error) {
			return &hook.WorktreeOutput{Path: "/repo/w"}, nil
		}), `{"hookSpecificOutput":{"hookEventName":"WorktreeCreate","worktreePath":"/repo/w"}}`},
		{"display nothing", hook.MessageDisplay(func(context.Context, *hook.MessageDisplayInput) (*hook.DisplayOutput, error) {
			return &hook.DisplayOutput{Content: new("")}, nil
		}), `{"hookSpecificOutput":{"hookEventName":"MessageDisplay","displayContent":""}}`},
		{"observer", hook.SessionEnd("", func(context.Context, *hook.SessionEndInput) error { return nil }), `{}`},
		{"raw", hook.Raw("NewEvent", "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return json.RawMessage("{\n\"x\":1}"), nil
		}), `{"x":1}`},
		{"raw nil", hook.Raw("NewEvent", "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return nil, nil
		}), `{}`},
		{"raw null", hook.Raw("NewEvent", "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return json.RawMessage("null"), nil
		}), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := call(t, tt.hook, `{}`, "t")
			if err != nil || got != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// pointerOutput is an Output of a program's own.
type pointerOutput struct{ reply string }

func (o *pointerOutput) Encode() (json.RawMessage, error) { return json.RawMessage(o.reply), nil }

func TestEncode(t *testing.T) {
	tests := []struct {
		name string
		out  hook.Output
		want string
	}{
		{"nil", nil, `{}`},
		{"typed nil", (*pointerOutput)(nil), `{}`},
		{"raw nil", hook.RawOutput(nil), `{}`},
		{"own null", &pointerOutput{"null"}, `{}`},
		{"own object", &pointerOutput{`{"a":1}`}, `{"a":1}`},
	}
	for _, tt := range tests {
		if got, err := hook.Encode(tt.out); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestFailures(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		hook  hook.Hook
		input string
	}{
		{"error", hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, boom }), `{}`},
		{"observer error", hook.PostCompact("", func(context.Context, *hook.PostCompactInput) error { return boom }), `{}`},
		{"input no JSON", pre(nil), `{"a":`},
		{"input no object", pre(nil), `[]`},
		{"input null", pre(nil), `null`},
		{"input missing", pre(nil), ``},
		{"new input no object", pre(hook.RewriteInput([]int{1})), `{}`},
		{"new input nil map", pre(hook.RewriteInput(map[string]any(nil))), `{}`},
		{"new input not encodable", pre(hook.RewriteInput(func() {})), `{}`},
		{"new input broken raw", pre(hook.RewriteInput(json.RawMessage(`{"a"`))), `{}`},
		{"new output not encodable", post(&hook.PostToolUseOutput{UpdatedToolOutput: func() {}}), `{}`},
		{"new MCP output not encodable", post(&hook.PostToolUseOutput{UpdatedMCPToolOutput: func() {}}), `{}`},
		{"changed input of a request", request(permission.AllowWith(nil)), `{}`},
		{"raw array", hook.Raw("X", "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return json.RawMessage(`[1]`), nil
		}), `{}`},
		{"raw error", hook.Raw("X", "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return json.RawMessage(`{}`), boom
		}), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := call(t, tt.hook, tt.input, ""); err == nil {
				t.Errorf("got %s, want an error", got)
			}
		})
	}
}

func TestFailureReply(t *testing.T) {
	// A hook for an unknown event that must fail closed blocks.
	events := append(eventTests(), eventTest{hook.Hook{Event: "NewEvent"}, "", blocked})
	for _, tt := range events {
		h := tt.hook
		for _, r := range []struct {
			name string
			got  json.RawMessage
			want string
		}{
			{"default", h.FailureReply(0, "r"), open},
			{"session open", h.FailureReply(hook.FailOpen, "r"), open},
			{"session closed", h.FailureReply(hook.FailClosed, "r"), tt.fail},
			{"hook closed", h.FailClosed().FailureReply(hook.FailOpen, "r"), tt.fail},
			{"hook open", h.FailOpen().FailureReply(hook.FailClosed, "r"), open},
		} {
			if string(r.got) != r.want {
				t.Errorf("%s, %s: got %s, want %s", h.Event, r.name, r.got, r.want)
			}
		}
	}
	got := hook.Hook{Event: hook.EventStop}.FailureReply(hook.FailClosed, "")
	if want := `{"decision":"block","reason":"The hook failed."}`; string(got) != want {
		t.Errorf("without a reason: got %s, want %s", got, want)
	}
}

func TestHookMethods(t *testing.T) {
	h := pre(nil)
	changed := h.WithTimeout(time.Second).FailClosed()
	if h.Timeout != 0 || h.OnFailure != 0 {
		t.Errorf("the original changed: %+v", h)
	}
	if changed.Timeout != time.Second || changed.OnFailure != hook.FailClosed || changed.Func == nil {
		t.Errorf("got %+v", changed)
	}
	if hook.PreToolUse("", nil).Func != nil || hook.SessionEnd("", nil).Func != nil || hook.Raw("X", "", nil).Func != nil {
		t.Error("a nil function became a hook")
	}
}
