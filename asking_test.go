package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

const elicitRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"elicitation","mcp_server_name":"eli","message":"Your name?","mode":"form","requested_schema":{"type":"object"},"property_order":["name"]}}`

func TestElicitation(t *testing.T) {
	tests := map[string]struct {
		call control.ElicitationFunc
		want string
	}{
		"nobody": {nil, `{"action":"decline"}`},
		"accept": {func(_ context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
			if e.RequestID != "u-1" || e.ServerName != "eli" || e.Message != "Your name?" || e.Mode != "form" || len(e.PropertyOrder) != 1 {
				return control.Decline(), errors.New("another question")
			}
			return control.Accept(map[string]string{"name": "Ada"}), nil
		}, `{"action":"accept","content":{"name":"Ada"}}`},
		"cancel": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Cancel(), nil
		},
			`{"action":"cancel"}`},
		"zero": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.ElicitationAnswer{}, nil
		}, `{"action":"decline"}`},
		"error": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Accept("x"), errors.New("no")
		}, `{"action":"decline"}`},
		"panic": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) { panic("boom") }, `{"action":"decline"}`},
		"Goexit": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			runtime.Goexit()
			return control.Accept(nil), nil
		}, `{"action":"decline"}`},
		"not encodable": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Accept(func() {}), nil
		}, `{"action":"decline"}`},
		"timeout": {func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
			<-ctx.Done()
			return control.Accept("late"), nil
		}, `{"action":"decline"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var answer string
			bubble(t, asking(elicitRequest, &answer), func(t *testing.T, o *claude.Options) {
				o.OnElicitation = tt.call
				o.Timeouts.Callback = time.Minute
				s := connect(t, o)
				pass(2 * time.Minute)
				if want := reply("u-1", tt.want); answer != want {
					t.Errorf("answer %s, want %s", answer, want)
				}
				finish(t, s)
			})
		})
	}
}

const dialogRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"request_user_dialog","dialog_kind":"color","payload":{"choices":["red"]},"tool_use_id":"toolu_1"}}`

func TestUserDialog(t *testing.T) {
	tests := map[string]struct {
		call control.DialogFunc
		want string
	}{
		"nobody": {nil, `{"behavior":"cancelled"}`},
		"completed": {func(_ context.Context, d *control.Dialog) (control.DialogAnswer, error) {
			if d.RequestID != "u-1" || d.Kind != "color" || string(d.Payload) != `{"choices":["red"]}` || d.ToolUseID != "toolu_1" {
				return control.CancelDialog(), errors.New("another dialog")
			}
			return control.CompleteDialog("red"), nil
		}, `{"behavior":"completed","result":"red"}`},
		"zero": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.DialogAnswer{}, nil
		}, `{"behavior":"cancelled"}`},
		"error": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.CompleteDialog(1), errors.New("no")
		}, `{"behavior":"cancelled"}`},
		"panic": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) { panic("boom") }, `{"behavior":"cancelled"}`},
		"not encodable": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.CompleteDialog(func() {}), nil
		}, `{"behavior":"cancelled"}`},
		"timeout": {func(ctx context.Context, _ *control.Dialog) (control.DialogAnswer, error) {
			<-ctx.Done()
			return control.CompleteDialog("late"), nil
		}, `{"behavior":"cancelled"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var answer string
			bubble(t, asking(dialogRequest, &answer), func(t *testing.T, o *claude.Options) {
				if o.OnUserDialog = tt.call; tt.call != nil {
					o.DialogKinds = []string{"color"}
				}
				o.Timeouts.Callback = time.Minute
				s := connect(t, o)
				pass(2 * time.Minute)
				if want := reply("u-1", tt.want); answer != want {
					t.Errorf("answer %s, want %s", answer, want)
				}
				finish(t, s)
			})
		})
	}
}

func TestShadowedOptions(t *testing.T) {
	dialog := func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
		return control.CancelDialog(), nil
	}
	tests := map[string]struct {
		field string
		opts  claude.Options
	}{
		"two who decide":         {"PermissionPromptTool", claude.Options{PermissionPromptTool: "mcp__x__ask", CanUseTool: allowAll}},
		"stdio without callback": {"PermissionPromptTool", claude.Options{PermissionPromptTool: "stdio"}},
		"one behind our back":    {"ExtraArgs", claude.Options{ExtraArgs: []string{"--permission-prompt-tool=mcp__x__ask"}, CanUseTool: allowAll}},
		"in two words":           {"ExtraArgs", claude.Options{ExtraArgs: []string{"--permission-prompt-tool", "mcp__x__ask"}, CanUseTool: allowAll}},
		"kinds without callback": {"DialogKinds", claude.Options{DialogKinds: []string{"color"}}},
		"callback without kinds": {"OnUserDialog", claude.Options{OnUserDialog: dialog}},
		"empty kind":             {"DialogKinds", claude.Options{OnUserDialog: dialog, DialogKinds: []string{"color", ""}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.opts.Transport = unstarted{t}
			_, err := claude.Connect(t.Context(), &tt.opts)
			if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != tt.field {
				t.Errorf("error = %v, want one about %s", err, tt.field)
			}
		})
	}
}

func TestShadowWarnings(t *testing.T) {
	tests := map[string]struct {
		opts claude.Options
		want string // level and words of the only line, "" for none
	}{
		"nothing":          {claude.Options{AllowedTools: []string{"Bash(git:*)"}}, ""},
		"bypass":           {claude.Options{PermissionMode: permission.ModeBypassPermissions}, "level=WARN bypassPermissions"},
		"bypass by a flag": {claude.Options{ExtraArgs: []string{"--dangerously-skip-permissions"}}, "level=WARN bypassPermissions"},
		"never asks":       {claude.Options{PermissionMode: permission.ModeDontAsk}, "level=WARN dontAsk"},
		"whole tool":       {claude.Options{AllowedTools: []string{"Bash"}}, "level=DEBUG rules=[Bash]"},
		"all of a tool":    {claude.Options{AllowedTools: []string{"Bash(*)"}}, "level=DEBUG rules=[Bash(*)]"},
		"several tools":    {claude.Options{AllowedTools: []string{"Bash", "Bash(git:*)", "Read"}}, `level=DEBUG rules="[Bash Read]"`},
		"no rule at all":   {claude.Options{AllowedTools: []string{"Bash(:*)"}}, ""},
		"mode by a flag":   {claude.Options{ExtraArgs: []string{"--permission-mode", "bypassPermissions"}}, "level=WARN bypassPermissions"},
		"mode by a value":  {claude.Options{ExtraArgs: []string{"--permission-mode=dontAsk"}}, "level=WARN dontAsk"},
		"rules by a flag":  {claude.Options{ExtraArgs: []string{"--allowedTools", "Bash(git:*),Read"}}, "level=DEBUG rules=[Read]"},
		"rules by a value": {claude.Options{ExtraArgs: []string{"--allowed-tools=Write"}}, "level=DEBUG rules=[Write]"},
		"whole server":     {claude.Options{AllowedTools: []string{"mcp__x__*"}}, "level=DEBUG rules=[mcp__x__*]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
				var log bytes.Buffer
				tt.opts.Transport, tt.opts.CanUseTool = o.Transport, allowAll
				tt.opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				finish(t, connect(t, &tt.opts))
				var about []string
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "CanUseTool") {
						about = append(about, line)
					}
				}
				level, words, some := strings.Cut(tt.want, " ")
				if got := strings.Join(about, ""); !some && got != "" || some && (len(about) != 1 || !strings.Contains(got, level) || !strings.Contains(got, words)) {
					t.Errorf("log %q, want %q", got, tt.want)
				}
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

// A request that lacks what it cannot be without is refused with an error that
// names the field, however its line was told, and no callback is asked that
// would allow it.
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
					t.Errorf("%s, %s: told of it %d times, want once", line, form, faults)
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

// deep is an object in an object in an object.
func deep(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
}

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
		"its event":          {`{"hook_event_name":"PreToolUse"}`, `"permissionDecision":"deny"`},
		"another event":      {`{"hook_event_name":"Stop"}`, `"response":{"continue":true}`},
		"no event":           {`{}`, `"permissionDecision":"deny"`},
		"input is no object": {`7`, `"permissionDecision":"deny"`},
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

// A person may take as long as it takes; a hook may not.
func TestPeopleHaveNoTimeLimit(t *testing.T) {
	const day = 24 * time.Hour
	think := func(ctx context.Context) error {
		select {
		case <-time.After(day):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for name, tt := range map[string]struct {
		request string
		want    string // part of the answer
		after   time.Duration
	}{
		"permission":  {bashRequest, `"behavior":"allow"`, day},
		"elicitation": {elicitRequest, `"action":"accept"`, day},
		"dialog":      {dialogRequest, `"behavior":"completed"`, day},
		"hook":        {stopRequest, `"continue":true`, time.Minute},
		"request":     {`{"type":"control_request","request_id":"u-1","request":{"subtype":"other"}}`, `timed out after 1m0s`, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var answer string
			var when time.Time
			play := func(c *cli) {
				c.greet()
				c.say("%s", tt.request)
				if f, ok := c.hear(); ok {
					answer, when = string(f.Line), time.Now()
				}
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
					return permission.Allow(), think(ctx)
				}
				o.OnElicitation = func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
					return control.Accept(map[string]string{}), think(ctx)
				}
				o.OnUserDialog = func(ctx context.Context, _ *control.Dialog) (control.DialogAnswer, error) {
					return control.CompleteDialog("red"), think(ctx)
				}
				o.DialogKinds = []string{"color"}
				o.Hooks = []hook.Hook{hook.Stop(func(ctx context.Context, _ *hook.StopInput) (*hook.StopOutput, error) {
					return hook.KeepGoing("more"), think(ctx)
				})}
				o.Requests = map[string]claude.RequestFunc{"other": func(ctx context.Context, _ json.RawMessage) (any, error) {
					return nil, think(ctx)
				}}
				begin := time.Now()
				s := connect(t, o)
				pass(tt.after + time.Second)
				if took := when.Sub(begin); !strings.Contains(answer, tt.want) || took < tt.after-time.Second {
					t.Errorf("answer %s after %v, want %s after %v", answer, took, tt.want, tt.after)
				}
				finish(t, s)
			})
		})
	}
}
