package hook_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// A CLI may write null for what it leaves out elsewhere. Every member of every
// input may be null, and then counts as missing; one that is kept as raw JSON
// keeps the null.
func TestNullMembers(t *testing.T) {
	data, err := os.ReadFile("testdata/inputs.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	hooks := map[hook.Event]hook.Hook{}
	for _, h := range all() {
		hooks[h.Event] = h
	}
	for line := range strings.Lines(string(data)) {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatal(err)
		}
		event := hook.Event(members["hook_event_name"].(string))
		t.Run(string(event), func(t *testing.T) {
			for name := range members {
				members[name] = nil
			}
			members["hook_event_name"] = event
			nulls, _ := json.Marshal(members)
			without := `{"hook_event_name":"` + string(event) + `"}`
			var got, want any
			for in, decoded := range map[string]*any{string(nulls): &got, without: &want} {
				ctx := context.WithValue(t.Context(), inputKey{}, decoded)
				if _, err := hooks[event].Func(ctx, json.RawMessage(in), "toolu_1"); err != nil {
					t.Fatalf("%s: %v", in, err)
				}
			}
			first, _ := jsonx.Marshal(got)
			first = regexp.MustCompile(`,"(requested_schema|content)":null`).ReplaceAll(first, nil)
			second, _ := jsonx.Marshal(want)
			if string(first) != string(second) {
				t.Errorf("with nulls    %s\nwithout them  %s", first, second)
			}
		})
	}
}

// says makes a function that returns an output.
func says[I, O any](out *O) func(context.Context, *I) (*O, error) {
	return func(context.Context, *I) (*O, error) { return out, nil }
}

// One output per event that can say something of its own, with everything it
// can say. Those that only inform answer {}.
func TestEveryOutput(t *testing.T) {
	context := `"additionalContext":"c"`
	all := []struct {
		hook hook.Hook
		want string // members of hookSpecificOutput after the name
	}{
		{hook.PreToolUse("", says[hook.PreToolUseInput](&hook.PreToolUseOutput{Decision: hook.PermissionDeny, DecisionReason: "r", UpdatedInput: map[string]int{"a": 1}, AdditionalContext: "c"})),
			`"permissionDecision":"deny","permissionDecisionReason":"r","updatedInput":{"a":1},` + context},
		{hook.PostToolUse("", says[hook.PostToolUseInput](&hook.PostToolUseOutput{AdditionalContext: "c", ClassifierContext: "k", UpdatedToolOutput: 1, UpdatedMCPToolOutput: 2})),
			context + `,"classifierContext":"k","updatedToolOutput":1,"updatedMCPToolOutput":2`},
		{hook.PostToolUseFailure("", says[hook.PostToolUseFailureInput](hook.AddContext("c"))), context},
		{hook.PostToolBatch(says[hook.PostToolBatchInput](hook.AddContext("c"))), context},
		{hook.PermissionRequest("", says[hook.PermissionRequestInput](hook.Decide(permission.Deny("m")))), `"decision":{"behavior":"deny","message":"m"}`},
		{hook.PermissionDenied("", says[hook.PermissionDeniedInput](&hook.PermissionDeniedOutput{Retry: true})), `"retry":true`},
		{hook.Elicitation("", says[hook.ElicitationInput](&hook.ElicitationOutput{Action: "accept", Content: 1})), `"action":"accept","content":1`},
		{hook.ElicitationResult("", says[hook.ElicitationResultInput](&hook.ElicitationOutput{Action: "accept"})), `"action":"accept"`},
		{hook.UserPromptSubmit(says[hook.UserPromptSubmitInput](&hook.PromptOutput{AdditionalContext: "c", SessionTitle: "t", SuppressOriginalPrompt: true})),
			context + `,"sessionTitle":"t","suppressOriginalPrompt":true`},
		{hook.UserPromptExpansion("", says[hook.UserPromptExpansionInput](&hook.PromptOutput{AdditionalContext: "c"})), context},
		{hook.MessageDisplay(says[hook.MessageDisplayInput](&hook.DisplayOutput{Content: new("d")})), `"displayContent":"d"`},
		{hook.Notification("", says[hook.NotificationInput](hook.AddContext("c"))), context},
		{hook.Stop(says[hook.StopInput](&hook.StopOutput{AdditionalContext: "c"})), context},
		{hook.StopFailure("", func(_ ctx, _ *hook.StopFailureInput) error { return nil }), ""},
		{hook.SubagentStart("", says[hook.SubagentStartInput](hook.AddContext("c"))), context},
		{hook.SubagentStop("", says[hook.SubagentStopInput](&hook.StopOutput{AdditionalContext: "c"})), context},
		{hook.TeammateIdle(says[hook.TeammateIdleInput](&hook.GateOutput{})), ""},
		{hook.TaskCreated(says[hook.TaskInput](&hook.GateOutput{})), ""},
		{hook.TaskCompleted(says[hook.TaskInput](&hook.GateOutput{})), ""},
		{hook.Setup("", says[hook.SetupInput](hook.AddContext("c"))), context},
		{hook.SessionStart("", says[hook.SessionStartInput](&hook.SessionStartOutput{AdditionalContext: "c", InitialUserMessage: "m", SessionTitle: "t", WatchPaths: []string{"w"}, ReloadSkills: true})),
			context + `,"initialUserMessage":"m","sessionTitle":"t","watchPaths":["w"],"reloadSkills":true`},
		{hook.SessionEnd("", func(_ ctx, _ *hook.SessionEndInput) error { return nil }), ""},
		{hook.PreCompact("", says[hook.PreCompactInput](&hook.GateOutput{})), ""},
		{hook.PostCompact("", func(_ ctx, _ *hook.PostCompactInput) error { return nil }), ""},
		{hook.PreModelSwitch("", says[hook.ModelSwitchInput](&hook.ModelSwitchOutput{Decision: hook.PermissionAsk, DecisionReason: "r"})),
			`"permissionDecision":"ask","permissionDecisionReason":"r"`},
		{hook.PostModelSwitch("", says[hook.ModelSwitchInput](hook.AddContext("c"))), context},
		{hook.ConfigChange("", says[hook.ConfigChangeInput](&hook.GateOutput{})), ""},
		{hook.InstructionsLoaded("", func(_ ctx, _ *hook.InstructionsLoadedInput) error { return nil }), ""},
		{hook.CwdChanged(says[hook.CwdChangedInput](&hook.WatchOutput{WatchPaths: []string{"w"}})), `"watchPaths":["w"]`},
		{hook.FileChanged("", says[hook.FileChangedInput](&hook.WatchOutput{WatchPaths: []string{"w"}})), `"watchPaths":["w"]`},
		{hook.DirectoryAdded("", func(_ ctx, _ *hook.DirectoryAddedInput) error { return nil }), ""},
		{hook.WorktreeCreate(says[hook.WorktreeCreateInput](&hook.WorktreeOutput{Path: "/w"})), `"worktreePath":"/w"`},
		{hook.WorktreeRemove(func(_ ctx, _ *hook.WorktreeRemoveInput) error { return nil }), ""},
	}
	if len(all) != 33 {
		t.Errorf("%d events, want 33", len(all))
	}
	for _, tt := range all {
		want := `{}`
		if tt.want != "" {
			want = `{"hookSpecificOutput":{"hookEventName":"` + string(tt.hook.Event) + `",` + tt.want + `}}`
		}
		if got, err := call(t, tt.hook, `{}`, "t"); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", tt.hook.Event, got, err, want)
		}
	}
}

type ctx = context.Context

// The common part can go with every output, and goes before the event's own.
func TestCommonPart(t *testing.T) {
	common := hook.Common{Stop: true, StopReason: "s", Block: true, Reason: "r", SystemMessage: "m", SuppressOutput: true, TerminalSequence: "q"}
	refused := hook.Elicitation("", says[hook.ElicitationInput](&hook.ElicitationOutput{Action: "cancel"}))
	if got, err := call(t, refused, `{}`, ""); err != nil || got != `{"decision":"block","hookSpecificOutput":{"hookEventName":"Elicitation","action":"cancel"}}` {
		t.Errorf("a refused elicitation: %s, %v", got, err)
	}
	h := hook.PreModelSwitch("", says[hook.ModelSwitchInput](&hook.ModelSwitchOutput{Common: common, Decision: hook.PermissionDeny}))
	want := `{"continue":false,"stopReason":"s","decision":"block","reason":"r","systemMessage":"m","suppressOutput":true,"terminalSequence":"q",` +
		`"hookSpecificOutput":{"hookEventName":"PreModelSwitch","permissionDecision":"deny"}}`
	if got, err := call(t, h, `{}`, ""); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
