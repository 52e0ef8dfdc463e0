package claude_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

const requestHook = `{"type":"control_request","request_id":"h-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{}},"tool_use_id":"toolu_1"}}`

// When the permission callback decides first, the hooks for the same tool call
// are told so, those that run and those that the CLI calls only then. Their
// answer is no opinion, whatever they fail with.
func TestCallbackOvertakesHook(t *testing.T) {
	for _, order := range []string{"hook first", "hook last"} {
		t.Run(order, func(t *testing.T) {
			heard := map[string]string{}
			play := func(c *cli) {
				c.greet()
				first, second := requestHook, bashRequest
				if order == "hook last" {
					first, second = second, first
				}
				c.say("%s", first)
				synctest.Wait()
				if order == "hook last" {
					f, _ := c.hear()
					heard["first"] = string(f.Line)
				}
				c.say("%s", second)
				for len(heard) < 2 {
					f, ok := c.hear()
					if !ok {
						break
					}
					heard[string(f.Line)] = string(f.Line)
				}
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				ended := make(chan error, 1)
				o.Hooks = []hook.Hook{hook.PermissionRequest("", func(ctx context.Context, _ *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return nil, ctx.Err()
				}).FailClosed()}
				o.CanUseTool = allowAll
				s := connect(t, o)
				begin := time.Now()
				if err := <-ended; err == nil || !strings.Contains(err.Error(), "has decided") {
					t.Errorf("cause %v", err)
				}
				if waited := time.Since(begin); waited != 0 {
					t.Errorf("the hook waited %v", waited)
				}
				synctest.Wait()
				var all []string
				for _, line := range heard {
					all = append(all, line)
				}
				if got := strings.Join(all, "\n"); !strings.Contains(got, reply("h-1", `{}`)) || !strings.Contains(got, `"behavior":"allow"`) {
					t.Errorf("answers\n%s", got)
				}
				finish(t, s)
			})
		})
	}
}

// A tool call that is asked about once more, as the CLI does after a hook has
// changed its input, is undecided again: its hooks run.
func TestCallAskedAboutAgain(t *testing.T) {
	for range 50 { // the CLI may be faster than whoever has answered
		askAgain(t)
	}
}

func askAgain(t *testing.T) {
	var answer string
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		c.hear()
		c.say("%s", strings.Replace(bashRequest, `"request_id":"`, `"request_id":"again-`, 1))
		synctest.Wait() // the callback has it, and takes its time
		c.say("%s", requestHook)
		f, _ := c.hear()
		answer = string(f.Line)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		var asked atomic.Int32
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			if asked.Add(1) > 1 {
				<-ctx.Done()
			}
			return permission.Allow(), nil
		}
		o.Hooks = []hook.Hook{hook.PermissionRequest("", func(ctx context.Context, _ *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
			return hook.Decide(permission.Deny("not again")), ctx.Err()
		})}
		s := connect(t, o)
		pass(time.Second)
		if asked.Load() != 2 || !strings.Contains(answer, "not again") {
			t.Errorf("asked %d times, the hook's answer is %s", asked.Load(), answer)
		}
		finish(t, s)
	})
}

// The decision about one tool call does not touch the hooks of another one.
func TestCallbackLeavesOtherHooks(t *testing.T) {
	var answer string
	play := func(c *cli) {
		c.greet()
		c.say("%s", strings.ReplaceAll(requestHook, "toolu_1", "toolu_2"))
		c.say("%s", bashRequest)
		f, _ := c.hear()
		answer = string(f.Line)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		var ended error
		o.Hooks = []hook.Hook{hook.PermissionRequest("", func(ctx context.Context, _ *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
			<-ctx.Done()
			ended = context.Cause(ctx)
			return nil, nil
		})}
		o.CanUseTool = allowAll
		s := connect(t, o)
		pass(time.Second)
		if ended != nil || !strings.Contains(answer, `"behavior":"allow"`) {
			t.Errorf("ended with %v, answer %s", ended, answer)
		}
		finish(t, s)
	})
}
