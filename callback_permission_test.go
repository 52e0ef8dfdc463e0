package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// A request that lacks a required field is refused with an error that names the
// field, whichever way its line was read, and no callback that would allow it is
// asked.
func TestRequestsThatLackAField(t *testing.T) {
	for body, field := range map[string]string{
		`"subtype":"can_use_tool"`:                                                     "request.tool_name",
		`"subtype":"can_use_tool","input":{"command":"ls"}`:                            "request.tool_name",
		`"subtype":"can_use_tool","tool_name":"","input":{}`:                           "request.tool_name",
		`"subtype":"can_use_tool","tool_name":7,"input":{}`:                            "request.tool_name",
		`"subtype":"can_use_tool","tool_name":null,"input":{}`:                         "request.tool_name",
		`"subtype":"can_use_tool","tool_name":"Bash"`:                                  "request.input",
		`"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"toolu_1"`:          "request.input",
		`"subtype":"can_use_tool","tool_name":"Bash","input":null`:                     "request.input",
		`"subtype":"hook_callback","input":{"hook_event_name":"PreToolUse"}`:           "request.callback_id",
		`"subtype":"hook_callback","callback_id":"","input":{}`:                        "request.callback_id",
		`"subtype":"hook_callback","callback_id":7,"input":{}`:                         "request.callback_id",
		`"subtype":"hook_callback","callback_id":null,"input":{},"tool_use_id":"tu_1"`: "request.callback_id",
		`"subtype":"hook_callback","callback_id":"hook_0"`:                             "request.input",
		`"subtype":"hook_callback","callback_id":"hook_0","input":null`:                "request.input",
		`"subtype":"hook_callback"`:                                                    "request.callback_id",
	} {
		for form, line := range map[string]string{
			"as the CLI writes it": `{"type":"control_request","request_id":"u-1","request":{` + body + `}}`,
			"in another order":     `{"request":{` + body + `},"request_id":"u-1","type":"control_request"}`,
			"with a member behind": `{"type":"control_request","request_id":"u-1","request":{` + body + `},"more":{}}`,
			"without its type":     `{"request_id":"u-1","request":{` + body + `}}`,
		} {
			field := field
			if form == "without its type" {
				field = "type"
			}
			want := `{"type":"control_response","response":{"subtype":"error","request_id":"u-1","error":"Missing required field: ` + field + `"}}`
			var answer string
			bubble(t, asking(line, &answer), func(t *testing.T, o *claude.Options) {
				asked := func() { t.Errorf("%s: user code was asked", line) }
				o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
					asked()
					return permission.Allow(), nil
				}
				o.Hooks = []hook.Hook{hook.Guard("", func(context.Context, *permission.Request) (permission.Decision, error) {
					asked()
					return permission.Allow(), nil
				})}
				var faults int
				o.Trace = &claude.Trace{Diagnostic: func(d claude.Diagnostic) {
					if strings.Contains(d.Err.Error(), field) {
						faults++
					}
				}}
				s := connect(t, o)
				synctest.Wait()
				if answer != want {
					t.Errorf("%s, %s: answer %s, want %s", line, form, answer, want)
				}
				finish(t, s)
				if faults != 1 {
					t.Errorf("%s, %s: reported %d times, want once", line, form, faults)
				}
			})
		}
	}
}

// A request whose input could be read in two ways, or not at all, is denied
// before a callback that would allow it is asked.
func TestPermissionRequestsThatCannotBeRead(t *testing.T) {
	for _, request := range []string{
		`{"subtype":"can_use_tool","tool_name":"Bash","input":"rm"}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":[]}`,
		`{"subtype":"can_use_tool","tool_name":"Read","input":{},"tool_name":"Bash"}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"input":{"command":"rm"}}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls","command":"rm"}}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls","Command":"rm"}}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls","\u0043ommand":"rm"}}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{"list":[{"kind":1},{"kind":1,"Kind":2}]}}`,
		`{"subtype":"can_use_tool","tool_name":"Read","Tool_Name":"Bash","input":{}}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":` + deep(1_000_000) + `}`,
	} {
		var answer string
		bubble(t, asking(`{"type":"control_request","request_id":"u-1","request":`+request+`}`, &answer), func(t *testing.T, o *claude.Options) {
			o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				t.Errorf("%.120s: the callback was asked", request)
				return permission.Allow(), nil
			}
			s := connect(t, o)
			synctest.Wait()
			if !strings.Contains(answer, `"behavior":"deny"`) || !strings.Contains(answer, "cannot be read: ") {
				t.Errorf("%.120s: answer %s", request, answer)
			}
			finish(t, s)
		})
	}
}

func TestPermission(t *testing.T) {
	failed := errors.New("database is down")
	tests := []struct {
		name string
		call permission.Func
		want string // part of the answer
	}{
		{"allow", func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
			`"response":{"behavior":"allow","updatedInput":{"command": "ls \u003c\ud83d"},"toolUseID":"toolu_1"}`},
		{"allow with", func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.AllowWith(map[string]string{"command": "pwd"}), nil
		}, `"updatedInput":{"command":"pwd"}`},
		{"deny", func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Deny("no"), nil
		},
			`"behavior":"deny","message":"no"`},
		{"pass", func(context.Context, *permission.Request) (permission.Decision, error) { return permission.Pass(), nil }, `"behavior":"deny"`},
		{"error", func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), failed
		},
			`"behavior":"deny","message":"Permission could not be decided: database is down"`},
		{"panic", func(context.Context, *permission.Request) (permission.Decision, error) { panic("boom") }, `"behavior":"deny","message":"Permission could not be decided: the callback panicked: boom"`},
		{"Goexit", func(context.Context, *permission.Request) (permission.Decision, error) {
			runtime.Goexit()
			return permission.Allow(), nil
		}, `"behavior":"deny"`},
		{"input that cannot be encoded", func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.AllowWith(func() {}), nil
		}, `"behavior":"deny"`},
		{"timeout", func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Allow(), nil
		}, `"behavior":"deny","message":"Permission could not be decided: the callback timed out after 1m0s"`},
		{"nobody", nil, `"behavior":"deny"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var answer string
			bubble(t, asking(bashRequest, &answer), func(t *testing.T, o *claude.Options) {
				o.CanUseTool = tt.call
				o.Timeouts.Callback = time.Minute
				s := connect(t, o)
				pass(2 * time.Minute)
				if !strings.Contains(answer, tt.want) || !strings.Contains(answer, `"toolUseID":"toolu_1"`) {
					t.Errorf("answer %s, want %s", answer, tt.want)
				}
				finish(t, s)
			})
		})
	}
}

func TestPermissionRequestIsComplete(t *testing.T) {
	var answer string
	bubble(t, asking(bashRequest, &answer), func(t *testing.T, o *claude.Options) {
		type key struct{}
		o.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
			if req.RequestID != "u-1" || req.ToolName != "Bash" || req.ToolUseID != "toolu_1" || ctx.Value(key{}) != "v" {
				t.Errorf("request %+v", req)
			}
			return permission.Allow(), nil
		}
		s, err := claude.Connect(context.WithValue(t.Context(), key{}, "v"), o)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		finish(t, s)
	})
}

// A tool call is decided on by the whole of its request. What stands behind the
// body is not part of it; what could be read in two ways is refused.
func TestGateLines(t *testing.T) {
	const allow, deny = `"behavior":"allow"`, `deny`
	const usual = `"tool_use_id":"toolu_1"}}`
	twice := strings.Replace(stopRequest, `"hook_event_name"`, `"hook_event_name":"Stop","hook_event_name"`, 1)
	for _, tt := range []struct {
		request, tail string // the tail takes the place of the last members
		faults        int
		want          string
	}{
		{bashRequest, usual, 0, allow},
		{bashRequest, `"tool_use_id":"toolu_1"},"new":{"a":{}}}`, 0, allow},
		{bashRequest, `"tool_use_id":"toolu_1","new":{"subtype":"x"}}}`, 0, allow},
		{bashRequest, `"tool_use_id":"toolu_1","subtype":"hook_callback","new":{}}}`, 1, deny},
		{bashRequest, `"tool_use_id":"toolu_1","Subtype":"hook_callback","new":{}}}`, 1, deny},
		{bashRequest, `"tool_use_id":"toolu_1","tool_name":"Read","new":{}}}`, 1, deny},
		// The envelope can be read in two ways, or has no end.
		{bashRequest, `"tool_use_id":"toolu_1"},"request":{"subtype":"interrupt"}}`, 1, `"error"`},
		{bashRequest, `"tool_use_id":"toolu_1"},"Request":{"a":{}}}`, 1, `"error"`},
		{bashRequest, `"tool_use_id":"toolu_1"},"request_id":"u-2"}`, 1, `"error"`},
		{bashRequest, `"tool_use_id":"toolu_1"}}}}`, 1, `"error"`},
		{bashRequest, `"tool_use_id":"toolu_1"}`, 1, `"error"`},
		{stopRequest, `"tool_use_id":"toolu_1"},"type":{"a":{}}}`, 1, `"error"`},
		{stopRequest, usual, 0, `"success"`},
		{stopRequest, `"tool_use_id":"toolu_1"},"new":{"a":{}}}`, 0, `"success"`},
		{stopRequest, `"tool_use_id":"toolu_1","SUBTYPE":"x","new":{}}}`, 1, deny},
		{stopRequest, `"tool_use_id":"toolu_1","input":{}}}`, 1, deny},
		{twice, usual, 1, deny},
		{strings.Replace(twice, `"hook_0"`, `"nope"`, 1), usual, 1, deny},
	} {
		request := strings.Replace(tt.request, usual, tt.tail, 1)
		var answer string
		bubble(t, asking(request, &answer), func(t *testing.T, o *claude.Options) {
			o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				return permission.Allow(), nil
			}
			o.Hooks = []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				return nil, nil
			}).FailClosed()}
			faults := 0
			o.Trace = &claude.Trace{Diagnostic: func(claude.Diagnostic) { faults++ }}
			s := connect(t, o)
			synctest.Wait()
			if !strings.Contains(answer, tt.want) || faults != tt.faults {
				t.Errorf("%s\nanswer %s, want %s; %d faults, want %d", request, answer, tt.want, faults, tt.faults)
			}
			finish(t, s)
		})
	}
}

// A number of a hundred thousand digits comes back as it went.
func TestHugeNumbers(t *testing.T) {
	digits := strings.Repeat("1234567890", 10_000)
	input := `{"n":` + digits + `, "f": -0.` + digits + `e+` + digits[:20] + `}`
	var answer string
	play := func(c *cli) {
		c.greet()
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"can_use_tool","tool_name":"calc","input":%s,"tool_use_id":"toolu_1"}}`, input)
		f, _ := c.hear()
		answer = string(f.Line)
		c.say(`{"type":"control_request","request_id":"u-2","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"tool_name":"calc","tool_input":%s},"tool_use_id":"toolu_1"}}`, input)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		var asked, hooked json.RawMessage
		o.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
			asked = req.Input
			return permission.Allow(), nil
		}
		o.Hooks = []hook.Hook{hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			hooked = in.ToolInput
			return hook.RewriteInput(in.ToolInput), nil
		})}
		s := connect(t, o)
		synctest.Wait()
		if string(asked) != input || string(hooked) != input {
			t.Errorf("the callback saw %d bytes, the hook %d, want %d", len(asked), len(hooked), len(input))
		}
		if !strings.Contains(answer, `"updatedInput":`+input+`,`) {
			t.Errorf("the answer of %d bytes does not hold the input", len(answer))
		}
		finish(t, s)
	})
}

const requestHook = `{"type":"control_request","request_id":"h-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{}},"tool_use_id":"toolu_1"}}`

// When the permission callback decides first, the hooks for the same tool call
// are told so, those that run and those that the CLI calls only then. Their
// answer counts as no opinion, whatever they fail with.
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
	for range 50 { // the CLI may be faster than the one that has answered
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
