package hook_test

import (
	"context"
	"testing"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// A test uses the context of a call to choose where the input goes, and whether
// the output is empty.
type (
	inputKey struct{}
	emptyKey struct{}
)

// says returns a function that hands its input to the test and returns an
// output.
func says[I, O any](out *O) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		if ctx.Value(emptyKey{}) != nil {
			return new(O), nil
		}
		return out, observes(ctx, in)
	}
}

func observes[I any](ctx context.Context, in *I) error {
	if got, ok := ctx.Value(inputKey{}).(*any); ok {
		*got = in
	}
	return nil
}

const (
	open    = `{"continue":true}`
	blocked = `{"decision":"block","reason":"r"}`
)

// specific is a reply with the event's own part.
func specific(event hook.Event, members string) string {
	return `{"hookSpecificOutput":{"hookEventName":"` + string(event) + `",` + members + `}}`
}

// eventTest is the test case of an event.
type eventTest struct {
	hook hook.Hook
	says string // members of hookSpecificOutput after the name; those that only inform have none
	fail string // the reply when the hook fails closed for the reason "r"
}

// eventTests has every event, in the order of the table. Each output has all
// its members set.
func eventTests() []eventTest {
	context := `"additionalContext":"c"`
	return []eventTest{
		{hook.PreToolUse("m", says[hook.PreToolUseInput](&hook.PreToolUseOutput{Decision: hook.PermissionDeny, DecisionReason: "r", UpdatedInput: map[string]int{"a": 1}, AdditionalContext: "c"})),
			`"permissionDecision":"deny","permissionDecisionReason":"r","updatedInput":{"a":1},` + context, specific("PreToolUse", `"permissionDecision":"deny","permissionDecisionReason":"r"`)},
		{hook.PostToolUse("m", says[hook.PostToolUseInput](&hook.PostToolUseOutput{AdditionalContext: "c", ClassifierContext: "k", UpdatedToolOutput: 1, UpdatedMCPToolOutput: 2})),
			context + `,"classifierContext":"k","updatedToolOutput":1,"updatedMCPToolOutput":2`, blocked},
		{hook.PostToolUseFailure("m", says[hook.PostToolUseFailureInput](hook.AddContext("c"))), context, open},
		{hook.PostToolBatch(says[hook.PostToolBatchInput](hook.AddContext("c"))), context, blocked},
		{hook.PermissionRequest("m", says[hook.PermissionRequestInput](hook.Decide(permission.Deny("m")))), `"decision":{"behavior":"deny","message":"m"}`, specific("PermissionRequest", `"decision":{"behavior":"deny","message":"r"}`)},
		{hook.PermissionDenied("m", says[hook.PermissionDeniedInput](&hook.PermissionDeniedOutput{Retry: true})), `"retry":true`, open},
		{hook.Elicitation("m", says[hook.ElicitationInput](&hook.ElicitationOutput{Action: "accept", Content: 1})), `"action":"accept","content":1`, `{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}`},
		{hook.ElicitationResult("m", says[hook.ElicitationResultInput](&hook.ElicitationOutput{Action: "accept"})), `"action":"accept"`, `{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"ElicitationResult","action":"decline"}}`},
		{hook.UserPromptSubmit(says[hook.UserPromptSubmitInput](&hook.PromptOutput{AdditionalContext: "c", SessionTitle: "t", SuppressOriginalPrompt: true})),
			context + `,"sessionTitle":"t","suppressOriginalPrompt":true`, blocked},
		{hook.UserPromptExpansion("m", says[hook.UserPromptExpansionInput](&hook.PromptOutput{AdditionalContext: "c"})), context, blocked},
		{hook.MessageDisplay(says[hook.MessageDisplayInput](&hook.DisplayOutput{Content: new("d")})), `"displayContent":"d"`, open},
		{hook.Notification("m", says[hook.NotificationInput](hook.AddContext("c"))), context, open},
		{hook.Stop(says[hook.StopInput](&hook.StopOutput{AdditionalContext: "c"})), context, blocked},
		{hook.StopFailure("m", observes[hook.StopFailureInput]), "", open},
		{hook.SubagentStart("m", says[hook.SubagentStartInput](hook.AddContext("c"))), context, open},
		{hook.SubagentStop("m", says[hook.SubagentStopInput](&hook.StopOutput{AdditionalContext: "c"})), context, blocked},
		{hook.TeammateIdle(says[hook.TeammateIdleInput](&hook.GateOutput{})), "", blocked},
		{hook.TaskCreated(says[hook.TaskInput](&hook.GateOutput{})), "", blocked},
		{hook.TaskCompleted(says[hook.TaskInput](&hook.GateOutput{})), "", blocked},
		{hook.Setup("m", says[hook.SetupInput](hook.AddContext("c"))), context, open},
		{hook.SessionStart("m", says[hook.SessionStartInput](&hook.SessionStartOutput{AdditionalContext: "c", InitialUserMessage: "m", SessionTitle: "t", WatchPaths: []string{"w"}, ReloadSkills: true})),
			context + `,"initialUserMessage":"m","sessionTitle":"t","watchPaths":["w"],"reloadSkills":true`, open},
		{hook.SessionEnd("m", observes[hook.SessionEndInput]), "", open},
		{hook.PreCompact("m", says[hook.PreCompactInput](&hook.GateOutput{})), "", blocked},
		{hook.PostCompact("m", observes[hook.PostCompactInput]), "", open},
		{hook.PreModelSwitch("m", says[hook.ModelSwitchInput](&hook.ModelSwitchOutput{Decision: hook.PermissionAsk, DecisionReason: "r"})),
			`"permissionDecision":"ask","permissionDecisionReason":"r"`, specific("PreModelSwitch", `"permissionDecision":"deny","permissionDecisionReason":"r"`)},
		{hook.PostModelSwitch("m", says[hook.ModelSwitchInput](hook.AddContext("c"))), context, open},
		{hook.ConfigChange("m", says[hook.ConfigChangeInput](&hook.GateOutput{})), "", blocked},
		{hook.InstructionsLoaded("m", observes[hook.InstructionsLoadedInput]), "", open},
		{hook.CwdChanged(says[hook.CwdChangedInput](&hook.WatchOutput{WatchPaths: []string{"w"}})), `"watchPaths":["w"]`, open},
		{hook.FileChanged("m", says[hook.FileChangedInput](&hook.WatchOutput{WatchPaths: []string{"w"}})), `"watchPaths":["w"]`, open},
		{hook.DirectoryAdded("m", observes[hook.DirectoryAddedInput]), "", open},
		{hook.WorktreeCreate(says[hook.WorktreeCreateInput](&hook.WorktreeOutput{Path: "/w"})), `"worktreePath":"/w"`, open},
		{hook.WorktreeRemove(observes[hook.WorktreeRemoveInput]), "", open},
	}
}

func TestEveryOutput(t *testing.T) {
	for _, tt := range eventTests() {
		want := `{}`
		if tt.says != "" {
			want = specific(tt.hook.Event, tt.says)
		}
		if got, err := call(t, tt.hook, `{}`, "t"); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", tt.hook.Event, got, err, want)
		}
		empty := context.WithValue(t.Context(), emptyKey{}, true)
		if got, err := callWith(t, empty, tt.hook, `{}`, "t"); err != nil || got != `{}` {
			t.Errorf("%s: empty output = %s, %v, want {}", tt.hook.Event, got, err)
		}
	}
}

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
