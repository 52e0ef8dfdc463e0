package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

const bashRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command": "ls \u003c\ud83d"},"tool_use_id":"toolu_1"}}`

const stopRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}},"tool_use_id":"toolu_1"}}`

// ask plays a CLI that sends one request and hears the answer.
func asking(request string, answer *string) func(*cli) {
	return func(c *cli) {
		c.greet()
		c.say("%s", request)
		if f, ok := c.hear(); ok {
			*answer = string(f.Line)
		}
		c.idle()
	}
}

func reply(id, payload string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` + payload + `}}`
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
// body is no part of it; what could be read in two ways is refused.
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

func TestHookFailures(t *testing.T) {
	const goOn = `{"continue":true}`
	failures := map[string]func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error){
		"error": func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return nil, errors.New("no")
		},
		"panic": func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { panic("boom") },
		"Goexit": func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			runtime.Goexit()
			return nil, nil
		},
		"timeout": func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			<-ctx.Done()
			return hook.DenyTool("too late"), nil
		},
	}
	for name, fn := range failures {
		for _, policy := range []hook.FailurePolicy{0, hook.FailOpen, hook.FailClosed} {
			t.Run(name, func(t *testing.T) {
				var answer string
				bubble(t, asking(stopRequest, &answer), func(t *testing.T, o *claude.Options) {
					o.HookFailure = policy
					o.Hooks = []hook.Hook{hook.PreToolUse("", fn).WithTimeout(time.Second)}
					s := connect(t, o)
					pass(time.Minute)
					if policy == hook.FailClosed || policy == 0 && name != "error" {
						if !strings.Contains(answer, `"permissionDecision":"deny"`) {
							t.Errorf("answer %s, want a deny", answer)
						}
					} else if want := reply("u-1", goOn); answer != want {
						t.Errorf("answer %s, want %s", answer, want)
					}
					finish(t, s)
				})
			})
		}
	}
}

// A hook that breaks down blocks where something waits for leave to happen, and
// nowhere else. Its own policy goes before that of the session.
func TestHookBreakdowns(t *testing.T) {
	broken := func(context.Context, json.RawMessage, string) (json.RawMessage, error) { panic("boom") }
	for _, tt := range []struct {
		hook    hook.Hook
		session hook.FailurePolicy
		want    string
	}{
		{hook.Raw(hook.EventPreToolUse, "", broken), 0, `"permissionDecision":"deny"`},
		{hook.Raw(hook.EventPermissionRequest, "", broken), 0, `"behavior":"deny"`},
		{hook.Raw(hook.EventUserPromptSubmit, "", broken), 0, `"decision":"block"`},
		{hook.Raw(hook.EventPostToolUse, "", broken), 0, `{"continue":true}`},
		{hook.Raw(hook.EventStop, "", broken), 0, `{"continue":true}`},
		{hook.Raw("Unheard", "", broken), 0, `{"continue":true}`},
		{hook.Raw(hook.EventPreToolUse, "", broken).FailOpen(), 0, `{"continue":true}`},
		{hook.Raw(hook.EventPreToolUse, "", broken).FailOpen(), hook.FailClosed, `{"continue":true}`},
		{hook.Raw(hook.EventPreToolUse, "", broken), hook.FailOpen, `{"continue":true}`},
		{hook.Raw(hook.EventStop, "", broken).FailClosed(), 0, `"decision":"block"`},
	} {
		var answer string
		bubble(t, asking(stopRequest, &answer), func(t *testing.T, o *claude.Options) {
			o.Hooks, o.HookFailure = []hook.Hook{tt.hook}, tt.session
			s := connect(t, o)
			synctest.Wait()
			if !strings.Contains(answer, tt.want) {
				t.Errorf("%s, policies %d and %d: %s, want %s", tt.hook.Event, tt.hook.OnFailure, tt.session, answer, tt.want)
			}
			finish(t, s)
		})
	}
}

func TestHookWithoutOpinion(t *testing.T) {
	var answer string
	bubble(t, asking(stopRequest, &answer), func(t *testing.T, o *claude.Options) {
		var done claude.TraceCallback
		o.Trace = &claude.Trace{CallbackDone: func(c claude.TraceCallback) { done = c }}
		o.Hooks = []hook.Hook{hook.PreToolUse("Bash", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			if in.ToolName != "Bash" {
				t.Errorf("input %+v", in)
			}
			return nil, nil
		})}
		s := connect(t, o)
		synctest.Wait()
		if want := reply("u-1", `{}`); answer != want {
			t.Errorf("answer %s, want %s", answer, want)
		}
		finish(t, s)
		if done.Subtype != "hook_callback" || done.Name != "PreToolUse" || done.RequestID != "u-1" || done.Err != nil {
			t.Errorf("traced %+v", done)
		}
	})
}

func TestCallbackCapacity(t *testing.T) {
	var answers []string
	play := func(c *cli) {
		c.greet()
		for _, id := range []string{"u-1", "u-2"} {
			c.say("%s", strings.ReplaceAll(bashRequest, "u-1", id))
		}
		c.say("%s", strings.ReplaceAll(stopRequest, "u-1", "u-3"))
		for range 2 {
			if f, ok := c.hear(); ok {
				answers = append(answers, string(f.Line))
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Callbacks = 1
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Pass(), context.Cause(ctx)
		}
		s := connect(t, o)
		pass(time.Hour)
		all := strings.Join(answers, "\n")
		if !strings.Contains(all, "too many callbacks") || !strings.Contains(all, `"request_id":"u-3","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"`) {
			t.Errorf("answers\n%s", all)
		}
		finish(t, s)
	})
}

func TestCallbackCancelled(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		synctest.Wait()
		c.say(`{"type":"control_cancel_request","request_id":"u-1"}`)
		if f, ok := c.hear(); ok {
			c.t.Errorf("heard %s after the cancel", f.Line)
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		ended := make(chan error, 1)
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return permission.Allow(), nil
		}
		s := connect(t, o)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		finish(t, s)
	})
}

func TestRequestsWithoutHandler(t *testing.T) {
	for request, want := range map[string]string{
		`{"subtype":"brand_new"}`:                                       `"subtype":"error","request_id":"u-1","error":"Unsupported control request subtype: brand_new","error_code":"unsupported_request"`,
		`{"subtype":"elicitation","message":"?"}`:                       `"response":{"action":"decline"}`,
		`{"subtype":"request_user_dialog","dialog_kind":"x"}`:           `"response":{"behavior":"cancelled"}`,
		`{"subtype":"hook_callback","callback_id":"hook_7","input":{}}`: `"response":{"continue":true}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{}}`:      `"behavior":"deny"`,
	} {
		var answer string
		line := `{"type":"control_request","request_id":"u-1","request":` + request + `}`
		bubble(t, asking(line, &answer), func(t *testing.T, o *claude.Options) {
			s := connect(t, o)
			synctest.Wait()
			if !strings.Contains(answer, want) || !json.Valid([]byte(answer)) {
				t.Errorf("%s: answer %s, want %s", request, answer, want)
			}
			finish(t, s)
		})
	}
}
