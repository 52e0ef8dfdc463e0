package hook_test

import (
	"context"
	"errors"
	"testing"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

func TestGuard(t *testing.T) {
	const input = `{"hook_event_name":"PreToolUse","cwd":"/repo","agent_id":"a1","tool_name":"mcp__x__add","tool_input":{"a":1},"tool_use_id":"toolu_1","mcp_server":{"name":"x"}}`
	tests := []struct {
		name     string
		decision permission.Decision
		err      error
		want     string // "" for a failure
	}{
		{"pass", permission.Pass(), nil, `{}`},
		{"allow", permission.Allow(), nil, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`},
		{"allow with", permission.AllowWith(map[string]int{"a": 2}), nil, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":2}}}`},
		{"deny", permission.Deny("no"), nil, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		{"deny and stop", permission.DenyAndStop("no"), nil, `{"continue":false,"stopReason":"no","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		{"error", permission.Allow(), errors.New("broken"), ""},
		{"allow nil", permission.AllowWith(nil), nil, ""},
		{"allow no object", permission.AllowWith(7), nil, ""},
		{"remember", permission.Allow(permission.AllowRule("Bash", "", permission.ToSession)), nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			guard := hook.Guard("m", func(_ context.Context, req *permission.Request) (permission.Decision, error) {
				if req.ToolName != "mcp__x__add" || string(req.Input) != `{"a":1}` || req.ToolUseID != "toolu_1" ||
					req.AgentID != "a1" || req.MCPServer == nil || req.Cwd != "/repo" || string(req.Raw) != input {
					t.Errorf("request %+v", req)
				}
				return tt.decision, tt.err
			})
			if guard.Event != hook.EventPreToolUse || guard.Matcher != "m" || guard.OnFailure != hook.FailClosed {
				t.Errorf("guard %+v", guard)
			}
			got, err := call(t, guard, input, "toolu_1")
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	nameless := hook.Guard("", func(context.Context, *permission.Request) (permission.Decision, error) {
		t.Error("asked about a tool without a name")
		return permission.Allow(), nil
	})
	if got, err := call(t, nameless, `{}`, ""); err == nil {
		t.Errorf("a tool without a name: %s", got)
	}
	if hook.Guard("", nil).Func != nil {
		t.Error("a nil function became a hook")
	}
}

// A session refuses a hook without a function and names its place.
func TestHookWithoutFunctionKeepsItsPlace(t *testing.T) {
	for name, h := range map[string]hook.Hook{
		"guard": hook.Guard("Bash", nil), "raw": hook.Raw(hook.EventPreToolUse, "Bash", nil), "typed": hook.PreToolUse("Bash", nil),
	} {
		if h.Event != hook.EventPreToolUse || h.Matcher != "Bash" || h.Func != nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
