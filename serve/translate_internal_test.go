package serve

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// The words of the API are those of the packages that the server asks: it passes them
// on as they are.
func TestWordsOfTheAPI(t *testing.T) {
	for ours, theirs := range map[api.PromptState]fleet.PromptStatus{
		api.PromptQueued: fleet.PromptQueued, api.PromptRunning: fleet.PromptRunning, api.PromptWaiting: fleet.PromptWaiting, api.PromptStuck: fleet.PromptStuck,
		api.PromptAnswered: fleet.PromptAnswered, api.PromptFailed: fleet.PromptFailed, api.PromptCancelled: fleet.PromptCancelled, api.PromptExpired: fleet.PromptExpired,
	} {
		if string(ours) != string(theirs) || ours.Done() != theirs.Done() {
			t.Errorf("a prompt is %q, done %t; in the fleet it is %q, done %t", ours, ours.Done(), theirs, theirs.Done())
		}
	}
	for ours, theirs := range map[api.Cause]fleet.Cause{
		api.CauseCLIMissing: fleet.CauseCLIMissing, api.CauseCLIFailed: fleet.CauseCLIFailed,
		api.CauseOptionRefused: fleet.CauseOptionRefused, api.CauseOptionsFailed: fleet.CauseOptionsFailed,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("a cause is %q, in the fleet %q", ours, theirs)
		}
		if got, advice := eventlog.FailureOf(theirs, "no such file"); got != ours || !strings.Contains(advice, "retry") {
			t.Errorf("a conversation with the cause %q reports %q: %s", theirs, got, advice)
		}
	}
	for ours, theirs := range map[api.Outcome]approval.Outcome{
		api.OutcomeRan: approval.OutcomeRan, api.OutcomeFailed: approval.OutcomeFailed, api.OutcomeDenied: approval.OutcomeDenied, api.OutcomeUnknown: approval.OutcomeUnknown,
		api.OutcomeAllowed: approval.OutcomeAllowed, api.OutcomeExpired: approval.OutcomeExpired, api.OutcomeWithdrawn: approval.OutcomeWithdrawn,
		api.OutcomeSuperseded: approval.OutcomeSuperseded, api.OutcomeDeleted: approval.OutcomeDeleted,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("an outcome is %q, in the inbox %q", ours, theirs)
		}
	}
}

// What a model has used reads the same in a turn as in the result of the CLI. Every
// member is set, so one that is missing or named otherwise shows.
func TestModelUsageIsTheCLIs(t *testing.T) {
	var used message.ModelUsage
	for i, v := 0, reflect.ValueOf(&used).Elem(); i < v.NumField(); i++ {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(i + 1))
		case reflect.Float64:
			f.SetFloat(float64(i) + 0.5)
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		default:
			t.Fatalf("a member of kind %s", f.Kind())
		}
	}
	shown := eventlog.ModelsOf(map[string]message.ModelUsage{"m": used})
	ours, err := json.Marshal(shown["m"])
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := json.Marshal(used)
	if err != nil {
		t.Fatal(err)
	}
	if string(ours) != string(theirs) {
		t.Errorf("shown:   %s\nthe CLI: %s", ours, theirs)
	}
	if back := eventlog.LedgerModels(shown); !maps.Equal(back, map[string]message.ModelUsage{"m": used}) {
		t.Errorf("%+v", back)
	}
}

// The enum tags of the wire list every word there is.
func TestEnumsAreWhole(t *testing.T) {
	field, _ := reflect.TypeFor[api.Prompt]().FieldByName("State")
	states := []api.PromptState{
		api.PromptQueued, api.PromptRunning, api.PromptWaiting, api.PromptStuck, api.PromptAnswered, api.PromptFailed, api.PromptCancelled, api.PromptExpired,
	}
	var names []string
	for _, s := range states {
		names = append(names, string(s))
	}
	if got := strings.Split(field.Tag.Get("enum"), ","); !slices.Equal(got, names) {
		t.Errorf("%q, want %q", got, names)
	}
}
