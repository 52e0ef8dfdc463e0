package approval_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// The CLI may ask for permission for a call that the hook has allowed. Only the
// input that was allowed passes; another one under the same id does not.
func TestGateAllowsOneInput(t *testing.T) {
	const shown, changed, other = `{"command":"make"}`, `{"command":"make all"}`, `{"command":"rm -r /"}`
	for name, tt := range map[string]struct {
		decision permission.Decision
		asked    string
		runs     string // "" if the call must not run
	}{
		"the input that was shown":     {permission.Allow(), shown, shown},
		"in another spelling":          {permission.Allow(), `{ "command" : "make" }`, `{ "command" : "make" }`},
		"another input":                {permission.Allow(), other, ""},
		"no input":                     {permission.Allow(), `{}`, ""},
		"the input that was put in":    {permission.AllowWith(json.RawMessage(changed)), changed, changed},
		"the input that was replaced":  {permission.AllowWith(json.RawMessage(changed)), shown, ""},
		"another than was put in":      {permission.AllowWith(json.RawMessage(changed)), other, ""},
		"the input of a denied call":   {permission.Deny("no"), shown, ""},
		"another than of a denied one": {permission.Deny("no"), other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inbox := approval.NewQuestions(store.Memory(), "p")
				gate := approval.NewGate(inbox, "ada", store.Fence{}, approval.Options{Patience: time.Minute})
				o := new(claude.Options)
				if err := gate.Install(o); err != nil {
					t.Fatal(err)
				}
				hooked := make(chan error, 1)
				go func() {
					_, err := o.Hooks[0].Func(t.Context(), json.RawMessage(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"toolu_1","tool_input":`+shown+`}`), "toolu_1")
					hooked <- err
				}()
				synctest.Wait()
				for q, err := range inbox.List(t.Context(), approval.Filter{}) {
					if err != nil {
						t.Fatal(err)
					}
					if _, err := inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: tt.decision, By: "ada", Digest: q.Digest}); err != nil {
						t.Fatal(err)
					}
				}
				if err := <-hooked; err != nil {
					t.Fatal(err)
				}
				d, err := o.CanUseTool(t.Context(), &permission.Request{ToolName: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(tt.asked)})
				if got := wouldRun(t, d, err, tt.asked); got != tt.runs {
					t.Errorf("asked about %s, the CLI would run %q, want %q; %v", tt.asked, got, tt.runs, err)
				}
			})
		})
	}
}

// wouldRun returns the input with which a call runs after a decision, "" if it does
// not run.
func wouldRun(t *testing.T, d permission.Decision, err error, asked string) string {
	t.Helper()
	if err != nil || d.Behavior() != permission.BehaviorAllow {
		return ""
	}
	input, ok := d.Input()
	if !ok {
		return asked
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
