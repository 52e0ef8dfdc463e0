package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// What the permission callback or a PermissionRequest hook makes of an input does not
// run before guards have agreed to it.
func TestChangedAfterGuards(t *testing.T) {
	const (
		question = `{"type":"control_request","request_id":"p-1","request":{"subtype":"can_use_tool","tool_name":"%s","input":{"command":"echo"},"tool_use_id":"t1"}}`
		event    = `{"type":"control_request","request_id":"p-1","request":{"subtype":"hook_callback","callback_id":"hook_1","input":{"hook_event_name":"PermissionRequest","cwd":"/w","tool_name":"%s","tool_input":{"command":"echo"}},"tool_use_id":"t1"}}`
	)
	type answers = map[string]*hook.PreToolUseOutput
	stop := hook.DenyTool("no")
	stop.Common = hook.StopRun("halt")
	echo := `{"command":"echo"}`
	before := []request{{"u-1", "hook_0", "t1", "Bash", echo}}
	for name, tt := range map[string]struct {
		before  []request
		matcher string
		tool    string // that is asked about
		answers answers
		fails   bool
		gives   string // the command of the answer
		want    []string
		denied  bool
	}{
		"a guard denies it":                   {before, "", "Bash", answers{"rm": hook.DenyTool("no")}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
		"a guard agrees":                      {before, "", "Bash", nil, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, false},
		"a guard allows it":                   {before, "", "Bash", answers{"rm": hook.AllowTool("")}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, false},
		"a guard wants it deferred":           {before, "", "Bash", answers{"rm": hook.DeferTool()}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
		"a guard changes it":                  {before, "", "Bash", answers{"rm": allowed(to("ls"))}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
		"a guard ends the run":                {before, "", "Bash", answers{"rm": stop}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
		"a guard fails":                       {before, "", "Bash", nil, true, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
		"unchanged":                           {before, "", "Bash", answers{"echo": nil}, false, "echo", []string{"guard Bash echo"}, false},
		"a guard of this tool":                {before, "Bash", "Bash", answers{"rm": hook.DenyTool("no")}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
		"a guard of another tool":             {nil, "Write", "Bash", answers{"rm": hook.DenyTool("no")}, false, "rm", nil, false},
		"the hooks were not asked":            {nil, "Bash", "Bash", answers{"rm": hook.DenyTool("no")}, false, "rm", []string{"guard Bash rm"}, true},
		"not asked, only the CLI can compare": {nil, "Ba(?=sh)", "Bash", answers{"rm": hook.DenyTool("no")}, false, "rm", []string{"guard Bash rm"}, true},
		"the CLI took it for another tool":    {before, "Bash", "Shell", answers{"rm": hook.DenyTool("no")}, false, "rm", []string{"guard Bash echo", "guard Bash rm"}, true},
	} {
		for way, ask := range map[string]string{"callback": question, "hook": event} {
			t.Run(name+", "+way, func(t *testing.T) {
				var answer string
				play := func(c *cli) {
					c.greet()
					for _, r := range tt.before {
						c.say("%s", r)
						c.hear()
					}
					c.say(ask, tt.tool)
					if f, ok := c.hear(); ok {
						answer = string(f.Line)
					}
					c.idle()
				}
				bubble(t, play, func(t *testing.T, o *claude.Options) {
					var a asked
					guard := a.named("guard", tt.matcher, tt.answers).At(hook.StageGuard).FailClosed()
					if inner := guard.Func; tt.fails {
						guard.Func = func(ctx context.Context, raw json.RawMessage, id string) (hook.Output, error) {
							_, _ = inner(ctx, raw, id)
							return nil, errors.New("broken")
						}
					}
					o.Hooks = []hook.Hook{guard}
					gives := permission.AllowWith(map[string]string{"command": tt.gives})
					if way == "callback" {
						o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) { return gives, nil }
					} else {
						o.Hooks = append(o.Hooks, hook.PermissionRequest("", func(context.Context, *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
							return hook.Decide(gives), nil
						}))
					}
					s := connect(t, o)
					synctest.Wait()
					if !slices.Equal(a.calls, tt.want) {
						t.Errorf("asked\n got %q\nwant %q", a.calls, tt.want)
					}
					if denied := strings.Contains(answer, `"behavior":"deny"`); denied != tt.denied || !denied && !strings.Contains(answer, fmt.Sprintf(`"updatedInput":{"command":%q}`, tt.gives)) {
						t.Errorf("reply %s", answer)
					}
					finish(t, s)
				})
			})
		}
	}
}

// A guard that saw a call as one of another tool cannot judge how it is changed.
func TestChangedInAnotherForm(t *testing.T) {
	var answer string
	play := func(c *cli) {
		c.greet()
		c.say("%s", request{"u-1", "hook_0", "t1", "Bash", `{"command":"echo"}`})
		c.say("%s", request{"u-2", "hook_chain", "t1", "Monitor", `{"command":"echo","timeout_ms":1}`})
		c.hear()
		c.hear()
		c.say(`{"type":"control_request","request_id":"p-1","request":{"subtype":"can_use_tool","tool_name":"Monitor","input":{"command":"echo","timeout_ms":1},"tool_use_id":"t1"}}`)
		if f, ok := c.hear(); ok {
			answer = string(f.Line)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		var a asked
		o.Hooks = []hook.Hook{a.named("guard", "Bash", nil).At(hook.StageGuard), noTool()}
		o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.AllowWith(map[string]any{"command": "rm", "timeout_ms": 1}), nil
		}
		s := connect(t, o)
		synctest.Wait()
		if !strings.Contains(answer, `"behavior":"deny"`) || !slices.Equal(a.calls, []string{"guard Bash echo"}) {
			t.Errorf("asked %q, reply %s", a.calls, answer)
		}
		finish(t, s)
	})
}
