package claude_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
)

// request is one request of the CLI to a callback about a tool use. Without a tool, its
// input cannot be that of a hook.
type request struct{ id, callback, toolUse, tool, input string }

func (r request) String() string {
	if r.tool == "" {
		return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":%q,"input":[],"tool_use_id":%q}}`, r.id, r.callback, r.toolUse)
	}
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":"%s","input":{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":%q,"tool_input":%s,"tool_use_id":%q},"tool_use_id":%q}}`,
		r.id, r.callback, r.tool, r.input, r.toolUse, r.toolUse)
}

// The CLI compares matchers, and the hooks of those for which it has sent a
// request are asked in their order, about what it shows to their matcher.
func TestChainMatchers(t *testing.T) {
	const echo, monitor = `{"command":"echo"}`, `{"command":"echo","timeout_ms":1}`
	type answers = map[string]*hook.PreToolUseOutput
	for name, tt := range map[string]struct {
		requests []request
		answers  answers  // of the hook of all tools
		want     []string // who was asked what
		denied   []string // by which requests the call is denied
	}{
		"one fits": {
			[]request{{"u-1", "hook_1", "t1", "Bash", echo}, {"u-2", "hook_chain", "t1", "Bash", echo}}, nil,
			[]string{"all Bash echo", "guard Bash echo"}, nil,
		},
		"two fit": {
			[]request{{"u-1", "hook_0", "t1", "Bash", echo}, {"u-2", "hook_1", "t1", "Bash", echo}, {"u-3", "hook_chain", "t1", "Bash", echo}}, nil,
			[]string{"foreign Bash echo", "all Bash echo", "guard Bash echo"}, nil,
		},
		"none fits": {
			[]request{{"u-1", "hook_chain", "t1", "Read", echo}}, nil,
			[]string{"all Read echo"}, nil,
		},
		"one sees it as another tool": {
			[]request{{"u-1", "hook_1", "t1", "Bash", echo}, {"u-2", "hook_chain", "t1", "Monitor", monitor}}, nil,
			[]string{"all Monitor echo", "guard Bash echo"}, nil,
		},
		"what is seen as two tools is not changed": {
			[]request{{"u-1", "hook_1", "t1", "Bash", echo}, {"u-2", "hook_chain", "t1", "Monitor", monitor}}, answers{"echo": allowed(to("rm"))},
			[]string{"all Monitor echo"}, []string{"u-2"},
		},
		"two calls at once": {
			[]request{
				{"u-1", "hook_1", "t1", "Bash", echo}, {"u-2", "hook_chain", "t2", "Read", echo},
				{"u-3", "hook_chain", "t1", "Bash", echo},
			}, nil,
			[]string{"all Bash echo", "all Read echo", "guard Bash echo"}, nil,
		},
		"the same call again": {
			[]request{
				{"u-1", "hook_1", "t1", "Bash", echo}, {"u-2", "hook_chain", "t1", "Bash", echo},
				{"u-3", "hook_1", "t1", "Bash", echo}, {"u-4", "hook_chain", "t1", "Bash", echo},
			}, nil,
			[]string{"all Bash echo", "all Bash echo", "guard Bash echo", "guard Bash echo"}, nil,
		},
		"a guard comes too late": {
			[]request{{"u-1", "hook_chain", "t1", "Bash", echo}, {"u-2", "hook_1", "t1", "Bash", echo}}, nil,
			[]string{"all Bash echo"}, []string{"u-2"},
		},
		"two calls under one id": {
			[]request{
				{"u-1", "hook_1", "t1", "Bash", echo}, {"u-2", "hook_1", "t1", "Bash", `{"command":"rm"}`},
				{"u-3", "hook_chain", "t1", "Bash", echo},
			}, nil,
			nil, []string{"u-1", "u-2", "u-3"},
		},
		"the request of a matcher cannot be read": {
			[]request{{"u-1", "hook_1", "t1", "Bash", `{"command":"echo","command":"rm"}`}, {"u-2", "hook_chain", "t1", "Bash", echo}}, nil,
			[]string{"all Bash echo"}, []string{"u-1"},
		},
		"nor which matcher it is": {
			[]request{{"u-1", `hook_1","callback_id":"hook_0`, "t1", "Bash", echo}, {"u-2", "hook_chain", "t1", "Bash", echo}}, nil,
			[]string{"all Bash echo"}, []string{"u-1"},
		},
		"a matcher is asked about something else than an object": {
			[]request{{"u-1", "hook_1", "t1", "", ""}, {"u-2", "hook_chain", "t1", "Bash", echo}}, nil,
			[]string{"all Bash echo"}, []string{"u-1", "u-2"},
		},
		"without an id": {
			[]request{{"u-1", "hook_1", "", "Bash", echo}, {"u-2", "hook_chain", "", "Bash", echo}}, nil,
			[]string{"all Bash echo", "foreign Bash echo", "guard Bash echo"}, []string{"u-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			replies := make(map[string]string)
			play := func(c *cli) {
				c.greet()
				for _, r := range tt.requests {
					c.say("%s", r)
				}
				for range tt.requests {
					if f, ok := c.hear(); ok {
						var in struct {
							Response struct {
								ID string `json:"request_id"`
							}
						}
						_ = json.Unmarshal(f.Line, &in)
						replies[in.Response.ID] = string(f.Line)
					}
				}
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				var a asked
				o.Hooks = []hook.Hook{
					a.named("foreign", "Ba(?=sh)", nil), a.named("guard", "Bash", nil).At(hook.StageGuard).FailClosed(), a.named("all", "", tt.answers),
				}
				s := connect(t, o)
				pass(2 * time.Minute)
				synctest.Wait()
				got := slices.Clone(a.calls)
				if len(tt.requests) > 2 || name == "without an id" { // calls are asked at the same time
					slices.Sort(got)
					slices.Sort(tt.want)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("asked\n got %q\nwant %q", got, tt.want)
				}
				for _, r := range tt.requests {
					if denied := strings.Contains(replies[r.id], `"permissionDecision":"deny"`); replies[r.id] == "" || denied != slices.Contains(tt.denied, r.id) {
						t.Errorf("%s: %s", r.id, replies[r.id])
					}
				}
				finish(t, s)
			})
		})
	}
}

// More matchers than callbacks may run at once are no more than one callback.
func TestChainOfManyMatchers(t *testing.T) {
	const matchers = 200
	denied := 0
	play := func(c *cli) {
		c.greet()
		for i := range matchers {
			c.say("%s", request{fmt.Sprintf("u-%d", i), fmt.Sprintf("hook_%d", i), "t1", "Bash", `{"command":"echo"}`})
		}
		c.say("%s", request{"u-last", "hook_chain", "t1", "Bash", `{"command":"echo"}`})
		for range matchers + 1 {
			if f, ok := c.hear(); ok && !strings.HasSuffix(strings.TrimSpace(string(f.Line)), `"response":{}}}`) {
				denied++
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		var a asked
		for i := range matchers {
			o.Hooks = append(o.Hooks, a.hook("hook", fmt.Sprintf("B|%d", i), nil))
		}
		s := connect(t, o)
		synctest.Wait()
		if len(a.calls) != matchers || denied != 0 {
			t.Errorf("%d hooks were asked, %d replies are denials", len(a.calls), denied)
		}
		finish(t, s)
	})
}
