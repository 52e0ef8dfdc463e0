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
)

// A hook is not asked about an input that could be read in two ways, or not at
// all: it fails, and the gate stays closed.
func TestHookRequestsThatCannotBeRead(t *testing.T) {
	for _, body := range []string{
		`"callback_id":"hook_0","callback_id":"hook_1","input":{}`,
		`"callback_id":"hook_0","input":{"tool_name":"Read"},"input":{"tool_name":"Bash"}`,
		`"callback_id":"hook_0","input":{"tool_name":"Read","tool_name":"Bash"}`,
		`"callback_id":"hook_0","input":{"tool_name":"Read","TOOL_NAME":"Bash","tool_input":{}}`,
		`"callback_id":"hook_0","input":{"tool_name":"Read","tool_input":{"a":{"path":"/safe","Path":"/etc"}}}`,
		`"callback_id":"hook_0","input":{"tool_name":"Read","tool_input":{"path":"\ud83d","pat\u0048":"/etc"}}`,
		`"callback_id":"hook_0","Input":{"tool_name":"Bash"},"input":{"tool_name":"Read"}`,
		`"callback_id":"hook_0","input":` + deep(1_000_000),
	} {
		var answer string
		bubble(t, asking(`{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback",`+body+`}}`, &answer), func(t *testing.T, o *claude.Options) {
			o.Hooks = []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				t.Errorf("%.80s: the hook was asked", body)
				return hook.AllowTool(""), nil
			}), noHook()}
			s := connect(t, o)
			synctest.Wait()
			if !strings.Contains(answer, `"permissionDecision":"deny"`) {
				t.Errorf("%.80s: answer %s", body, answer)
			}
			finish(t, s)
		})
	}
}

// A call by an id that no hook has fails as the strictest hook of its event.
func TestUnknownHookID(t *testing.T) {
	tests := map[string]struct {
		input, want string
	}{
		"its event":                   {`{"hook_event_name":"PreToolUse"}`, `"permissionDecision":"deny"`},
		"another event":               {`{"hook_event_name":"Stop"}`, `"response":{"continue":true}`},
		"no event":                    {`{}`, `"permissionDecision":"deny"`},
		"input that is not an object": {`7`, `"permissionDecision":"deny"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var answer string
			line := `{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"hook_9","input":` + tt.input + `}}`
			bubble(t, asking(line, &answer), func(t *testing.T, o *claude.Options) {
				o.Hooks = []hook.Hook{noHook(), hook.Guard("", allowAll)}
				s := connect(t, o)
				synctest.Wait()
				if !strings.Contains(answer, tt.want) {
					t.Errorf("answer %s, want %s", answer, tt.want)
				}
				finish(t, s)
			})
		})
	}
}

func TestFailClosedNeedsTheCLI(t *testing.T) {
	tests := map[string]struct {
		info           string
		closed, refuse bool
	}{
		"supported":            {`{"claude_code_version":"2.1.325","hook_on_failure_supported":true}`, true, false},
		"unsupported":          {`{"claude_code_version":"2.1.0"}`, true, true},
		"unknown":              {`{}`, true, true},
		"not registered":       {`{"hook_on_failure_supported":true,"hooks_applied":false}`, true, true},
		"open, unsupported":    {`{"claude_code_version":"2.1.0"}`, false, false},
		"open, not registered": {`{"hooks_applied":false}`, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.succeed(c.request("initialize"), tt.info)
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				o.Hooks = []hook.Hook{noHook()}
				if tt.closed {
					o.HookFailure = hook.FailClosed
				}
				s, err := claude.Connect(t.Context(), o)
				if refused := errors.Is(err, claude.ErrUnsupportedVersion); refused != tt.refuse || err != nil && !refused {
					t.Fatalf("error = %v, refused %v", err, tt.refuse)
				}
				if err == nil {
					finish(t, s)
				} else if !strings.Contains(err.Error(), "Stop hook is to fail closed") {
					t.Errorf("error = %v", err)
				}
			})
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
