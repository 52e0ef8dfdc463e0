package hook_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

type inputKey struct{}

// answers hands its input to the test and returns an output that says
// nothing.
func answers[I, O any](ctx context.Context, in *I) (*O, error) { return new(O), observes(ctx, in) }

func observes[I any](ctx context.Context, in *I) error {
	if got, ok := ctx.Value(inputKey{}).(*any); ok {
		*got = in
	}
	return nil
}

// all is one hook of every event.
func all() []hook.Hook {
	return []hook.Hook{
		hook.PreToolUse("m", answers[hook.PreToolUseInput, hook.PreToolUseOutput]),
		hook.PostToolUse("m", answers[hook.PostToolUseInput, hook.PostToolUseOutput]),
		hook.PostToolUseFailure("m", answers[hook.PostToolUseFailureInput, hook.ContextOutput]),
		hook.PostToolBatch(answers[hook.PostToolBatchInput, hook.ContextOutput]),
		hook.PermissionRequest("m", answers[hook.PermissionRequestInput, hook.PermissionRequestOutput]),
		hook.PermissionDenied("m", answers[hook.PermissionDeniedInput, hook.PermissionDeniedOutput]),
		hook.Elicitation("m", answers[hook.ElicitationInput, hook.ElicitationOutput]),
		hook.ElicitationResult("m", answers[hook.ElicitationResultInput, hook.ElicitationOutput]),
		hook.UserPromptSubmit(answers[hook.UserPromptSubmitInput, hook.PromptOutput]),
		hook.UserPromptExpansion("m", answers[hook.UserPromptExpansionInput, hook.PromptOutput]),
		hook.MessageDisplay(answers[hook.MessageDisplayInput, hook.DisplayOutput]),
		hook.Notification("m", answers[hook.NotificationInput, hook.ContextOutput]),
		hook.Stop(answers[hook.StopInput, hook.StopOutput]),
		hook.StopFailure("m", observes[hook.StopFailureInput]),
		hook.SubagentStart("m", answers[hook.SubagentStartInput, hook.ContextOutput]),
		hook.SubagentStop("m", answers[hook.SubagentStopInput, hook.StopOutput]),
		hook.TeammateIdle(answers[hook.TeammateIdleInput, hook.GateOutput]),
		hook.TaskCreated(answers[hook.TaskInput, hook.GateOutput]),
		hook.TaskCompleted(answers[hook.TaskInput, hook.GateOutput]),
		hook.Setup("m", answers[hook.SetupInput, hook.ContextOutput]),
		hook.SessionStart("m", answers[hook.SessionStartInput, hook.SessionStartOutput]),
		hook.SessionEnd("m", observes[hook.SessionEndInput]),
		hook.PreCompact("m", answers[hook.PreCompactInput, hook.GateOutput]),
		hook.PostCompact("m", observes[hook.PostCompactInput]),
		hook.PreModelSwitch("m", answers[hook.ModelSwitchInput, hook.ModelSwitchOutput]),
		hook.PostModelSwitch("m", answers[hook.ModelSwitchInput, hook.ContextOutput]),
		hook.ConfigChange("m", answers[hook.ConfigChangeInput, hook.GateOutput]),
		hook.InstructionsLoaded("m", observes[hook.InstructionsLoadedInput]),
		hook.CwdChanged(answers[hook.CwdChangedInput, hook.WatchOutput]),
		hook.FileChanged("m", answers[hook.FileChangedInput, hook.WatchOutput]),
		hook.DirectoryAdded("m", observes[hook.DirectoryAddedInput]),
		hook.WorktreeCreate(answers[hook.WorktreeCreateInput, hook.WorktreeOutput]),
		hook.WorktreeRemove(observes[hook.WorktreeRemoveInput]),
	}
}

func TestEveryEvent(t *testing.T) {
	seen := map[hook.Event]bool{}
	for _, h := range all() {
		if seen[h.Event] {
			t.Errorf("two constructors for %s", h.Event)
		}
		seen[h.Event] = true
		if got, err := call(t, h, `{}`, "t"); err != nil || got != `{}` {
			t.Errorf("%s: empty output = %s, %v, want {}", h.Event, got, err)
		}
	}
	if len(seen) != 33 {
		t.Errorf("got %d events, want 33", len(seen))
	}
}

// The CLI's own catalogue says which events have no matcher.
func TestMatchers(t *testing.T) {
	none := []hook.Event{hook.EventPostToolBatch, hook.EventUserPromptSubmit, hook.EventStop, hook.EventTeammateIdle,
		hook.EventTaskCreated, hook.EventTaskCompleted, hook.EventWorktreeCreate, hook.EventWorktreeRemove,
		hook.EventCwdChanged, hook.EventMessageDisplay}
	for _, h := range all() {
		want := "m"
		if slices.Contains(none, h.Event) {
			want = ""
		}
		if h.Matcher != want {
			t.Errorf("%s: matcher %q, want %q", h.Event, h.Matcher, want)
		}
	}
}

// Each line of the fixture is an input with every member the event has. What a
// type leaves out would be missing when the input is encoded again.
func TestInputs(t *testing.T) {
	data, err := os.ReadFile("testdata/inputs.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	hooks := map[hook.Event]hook.Hook{}
	for _, h := range all() {
		hooks[h.Event] = h
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		var head struct {
			Event hook.Event `json:"hook_event_name"`
		}
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		t.Run(string(head.Event), func(t *testing.T) {
			var in any
			ctx := context.WithValue(t.Context(), inputKey{}, &in)
			if _, err := hooks[head.Event].Func(ctx, json.RawMessage(line), "toolu_1"); err != nil {
				t.Fatal(err)
			}
			delete(hooks, head.Event)
			encoded, err := jsonx.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(encoded, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatal(err)
			}
			if head.Event == hook.EventPermissionRequest {
				want["tool_use_id"] = "toolu_1"
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", encoded, line)
			}
		})
	}
	for event := range hooks {
		t.Errorf("no fixture for %s", event)
	}
}

func TestInputIsTolerant(t *testing.T) {
	var got *hook.PreToolUseInput
	h := hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		got = in
		return nil, nil
	})
	in := `{"session_id":7,"cwd":"/repo","effort":"high","tool_name":"Bash","tool_input":{"command":"\ud83d","n":1e400},"mcp_server":[],"tool_use_id":"t","new":1}`
	if reply, err := call(t, h, in, "t"); err != nil || reply != `{}` {
		t.Fatalf("got %s, %v, want {}", reply, err)
	}
	if got.Cwd != "/repo" || got.ToolName != "Bash" || got.ToolUseID != "t" || got.SessionID != "" {
		t.Errorf("got %+v, want the fields that fit", got)
	}
	if want := `{"command":"\ud83d","n":1e400}`; string(got.ToolInput) != want {
		t.Errorf("tool input = %s, want %s", got.ToolInput, want)
	}
	if string(got.Raw) != in {
		t.Errorf("Raw = %s", got.Raw)
	}
	var v struct {
		Command int `json:"command"`
	}
	if err := got.DecodeInput(&v); err == nil || !strings.Contains(err.Error(), "Bash") {
		t.Errorf("DecodeInput: error = %v, want one that names the tool", err)
	}
}
