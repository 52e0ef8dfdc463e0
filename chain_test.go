package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

const echoRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_input":{"command":"echo"},"tool_use_id":"toolu_1"},"tool_use_id":"toolu_1"}}`

// asked are the hooks of a test, with what they were asked, in order.
type asked struct {
	mu    sync.Mutex
	calls []string
}

func (a *asked) note(name string, in *hook.PreToolUseInput) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, name+" "+commandOf(in.ToolInput))
}

func jsonText(raw json.RawMessage, name string) string {
	var object map[string]string
	_ = json.Unmarshal(raw, &object)
	return object[name]
}

// hook answers with an output, by the command that it is asked about.
func (a *asked) hook(name, matcher string, answers map[string]*hook.PreToolUseOutput) hook.Hook {
	return hook.PreToolUse(matcher, func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		a.note(name, in)
		return answers[jsonText(in.ToolInput, "command")], nil
	})
}

// named notes the tool as well.
func (a *asked) named(name, matcher string, answers map[string]*hook.PreToolUseOutput) hook.Hook {
	return hook.PreToolUse(matcher, func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		a.note(name+" "+in.ToolName, in)
		return answers[commandOf(in.ToolInput)], nil
	})
}

// commandOf is the command of an input, whatever else is in it.
func commandOf(raw json.RawMessage) string {
	var input struct{ Command string }
	_ = json.Unmarshal(raw, &input)
	return input.Command
}

func to(command string) *hook.PreToolUseOutput {
	return hook.RewriteInput(map[string]string{"command": command})
}

func allowed(o *hook.PreToolUseOutput) *hook.PreToolUseOutput {
	o.Decision = hook.PermissionAllow
	return o
}

// Several hooks before a tool are asked one after the other, each about what the
// others have left.
func TestChain(t *testing.T) {
	type answers = map[string]*hook.PreToolUseOutput
	no := hook.DenyTool("no")
	tests := map[string]struct {
		hooks func(*asked) []hook.Hook
		want  []string // who was asked what
		reply string   // what the CLI reads
	}{
		"a guard sees what a hook makes of it": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{
					a.hook("guard", "", answers{"rm": no}).At(hook.StageGuard),
					a.hook("rewrite", "", answers{"echo": allowed(to("rm"))}),
				}
			},
			[]string{"rewrite echo", "guard rm"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		},
		"a hook is asked again about what a later one makes of it": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{a.hook("check", "", answers{"rm": no}), a.hook("rewrite", "", answers{"echo": allowed(to("rm"))})}
			},
			[]string{"check echo", "rewrite echo", "check rm"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		},
		"changes follow one another": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{
					a.hook("one", "", answers{"echo": allowed(to("echo 1"))}),
					a.hook("two", "", answers{"echo 1": allowed(to("echo 1 2")), "echo 1 2": no}),
				}
			},
			[]string{"one echo", "two echo 1"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"echo 1 2"}}}`,
		},
		"a denial stays, whatever another guard makes of the input": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{
					a.hook("deny", "", answers{"echo": no}).At(hook.StageGuard),
					a.hook("rewrite", "", answers{"echo": allowed(to("ls"))}).At(hook.StageGuard),
				}
			},
			[]string{"deny echo", "rewrite echo"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		},
		"what stopped the run does so after a change": {
			func(a *asked) []hook.Hook {
				stop := &hook.PreToolUseOutput{}
				stop.Common = hook.StopRun("halt")
				return []hook.Hook{a.hook("stop", "", answers{"echo": stop}), a.hook("rewrite", "", answers{"echo": allowed(to("ls"))})}
			},
			[]string{"stop echo", "rewrite echo", "stop ls"},
			`{"continue":false,"stopReason":"halt","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}`,
		},
		"nobody is asked about what a guard denies": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{
					a.hook("release", "", nil).At(hook.StageRelease), a.hook("gate", "", nil).At(hook.StageGate),
					a.hook("guard", "", answers{"echo": no}).At(hook.StageGuard), a.hook("guard 2", "", nil).At(hook.StageGuard), a.hook("audit", "", nil),
				}
			},
			[]string{"audit echo", "guard echo", "guard 2 echo"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		},
		"a deferred call is not released": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{a.hook("release", "", nil).At(hook.StageRelease), a.hook("gate", "", answers{"echo": hook.DeferTool()}).At(hook.StageGate)}
			},
			[]string{"gate echo"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}`,
		},
		"guards look at what a person puts in": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{
					a.hook("guard", "", answers{"rm": no}).At(hook.StageGuard), a.hook("gate", "", answers{"echo": allowed(to("rm"))}).At(hook.StageGate),
					a.hook("release", "", nil).At(hook.StageRelease),
				}
			},
			[]string{"guard echo", "gate echo", "guard rm"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		},
		"the guard at the release has the last word": {
			func(a *asked) []hook.Hook {
				return []hook.Hook{a.hook("release", "", answers{"echo": no}).At(hook.StageRelease), a.hook("gate", "", answers{"echo": hook.AllowTool("")}).At(hook.StageGate)}
			},
			[]string{"gate echo", "release echo"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var answer string
			bubble(t, asking(echoRequest, &answer), func(t *testing.T, o *claude.Options) {
				var a asked
				o.Hooks = tt.hooks(&a)
				s := connect(t, o)
				synctest.Wait()
				if !slices.Equal(a.calls, tt.want) {
					t.Errorf("asked\n got %q\nwant %q", a.calls, tt.want)
				}
				if want := reply("u-1", tt.reply); strings.TrimSpace(answer) != want {
					t.Errorf("reply\n got %s\nwant %s", answer, want)
				}
				finish(t, s)
			})
		})
	}
}

// Hooks that change each other's input for ever, after a person or at the release,
// do not let the call run.
func TestChainWithoutAgreement(t *testing.T) {
	longer := func(stage hook.Stage) hook.Hook {
		return hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return allowed(to(jsonText(in.ToolInput, "command") + "!")), nil
		}).At(stage)
	}
	for name, hooks := range map[string][]hook.Hook{
		"two guards":     {longer(hook.StageGuard), longer(hook.StageGuard)},
		"after a person": {longer(hook.StageGuard), longer(hook.StageGate)},
		"at the release": {noTool(), longer(hook.StageRelease)},
	} {
		t.Run(name, func(t *testing.T) {
			var answer string
			bubble(t, asking(echoRequest, &answer), func(t *testing.T, o *claude.Options) {
				o.Hooks = hooks
				s := connect(t, o)
				synctest.Wait()
				if !strings.Contains(answer, `"permissionDecision":"deny"`) || strings.Contains(answer, "updatedInput") {
					t.Errorf("reply %s", answer)
				}
				finish(t, s)
			})
		})
	}
}

func noTool() hook.Hook { return hook.PreToolUse("", noOpinion) }

func noOpinion(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	return nil, nil
}

// Each hook fails by its own policy, and the others are asked anyway.
func TestChainFailures(t *testing.T) {
	raw := func(text string) hook.Hook {
		return hook.Raw(hook.EventPreToolUse, "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return json.RawMessage(text), nil
		})
	}
	fn := func(f func()) hook.Hook {
		return hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			f()
			return nil, errors.New("broken")
		})
	}
	for name, tt := range map[string]struct {
		hook   hook.Hook
		closed bool // without a policy
	}{
		"error":          {fn(func() {}), false},
		"panic":          {fn(func() { panic("at the disco") }), true},
		"goexit":         {fn(runtime.Goexit), true},
		"other event":    {raw(`{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"deny"}}`), true},
		"no event":       {raw(`{"hookSpecificOutput":{"permissionDecision":"deny"}}`), true},
		"odd decision":   {raw(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"perhaps"}}`), true},
		"odd block":      {raw(`{"decision":"maybe"}`), true},
		"input a text":   {raw(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":"rm"}}`), true},
		"twice":          {raw(`{"decision":"block","Decision":"approve"}`), true},
		"ignores limits": {noTool().WithTimeout(time.Second), true}, // its function is made in the bubble
	} {
		for policy, closed := range map[hook.FailurePolicy]bool{0: tt.closed, hook.FailOpen: false, hook.FailClosed: true} {
			var answer string
			called := 0
			bubble(t, asking(echoRequest, &answer), func(t *testing.T, o *claude.Options) {
				failing := tt.hook
				failing.OnFailure = policy
				if name == "ignores limits" {
					stop := make(chan struct{}) // of this bubble
					defer close(stop)
					failing.Func = func(context.Context, json.RawMessage, string) (hook.Output, error) { <-stop; return nil, nil }
				}
				o.Hooks = []hook.Hook{failing, hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
					called++
					return hook.AllowTool(""), nil
				})}
				s := connect(t, o)
				pass(2 * time.Second)
				if denied := strings.Contains(answer, `"permissionDecision":"deny"`); denied != closed || called != 1 || answer == "" {
					t.Errorf("%s, policy %d: the other was asked %d times, reply %s", name, policy, called, answer)
				}
				finish(t, s)
			})
		}
	}
}

// The other outputs of hooks, beside their decisions, reach the CLI together.
func TestChainJoinsOutputs(t *testing.T) {
	var answer string
	bubble(t, asking(echoRequest, &answer), func(t *testing.T, o *claude.Options) {
		for _, text := range []string{
			`{"systemMessage":"one","terminalSequence":"a","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"fine","additionalContext":"first","newer":1}}`,
			`{"async":true,"decision":"block"}`,
			`{"continue":false,"stopReason":"enough","suppressOutput":true,"systemMessage":"two","terminalSequence":"b","future":{"x":[1]}}`,
			`{"continue":false,"stopReason":"later","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?","additionalContext":"second"}}`,
			`{"decision":"approve","reason":"old"}`,
		} {
			o.Hooks = append(o.Hooks, hook.Raw(hook.EventPreToolUse, "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
				return json.RawMessage(text), nil
			}))
		}
		s := connect(t, o)
		synctest.Wait()
		want := reply("u-1", `{"continue":false,"stopReason":"enough","systemMessage":"one\ntwo","suppressOutput":true,"terminalSequence":"ab",`+
			`"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?","additionalContext":"first\nsecond","newer":1},"future":{"x":[1]}}`)
		if strings.TrimSpace(answer) != want {
			t.Errorf("reply\n got %s\nwant %s", answer, want)
		}
		finish(t, s)
	})
}

// A Trace sees each hook, and its own answer.
func TestChainIsTraced(t *testing.T) {
	var answer string
	bubble(t, asking(echoRequest, &answer), func(t *testing.T, o *claude.Options) {
		var a asked
		o.Hooks = []hook.Hook{a.hook("one", "", nil), a.hook("two", "", map[string]*hook.PreToolUseOutput{"echo": hook.AllowTool("")})}
		var done []string
		started := 0
		o.Trace = &claude.Trace{
			CallbackStarted: func(claude.TraceCallback) { started++ },
			CallbackDone:    func(c claude.TraceCallback) { done = append(done, c.Name+" "+c.ToolUseID+" "+string(c.Reply)) },
		}
		s := connect(t, o)
		synctest.Wait()
		want := []string{`PreToolUse toolu_1 {}`, `PreToolUse toolu_1 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`}
		if !slices.Equal(done, want) || started != 2 {
			t.Errorf("started %d, done %q", started, done)
		}
		finish(t, s)
	})
}

// A withdrawn call is not asked about any further.
func TestChainWithdrawn(t *testing.T) {
	bubble(t, func(c *cli) {
		c.greet()
		c.say("%s", echoRequest)
		pass(time.Second)
		c.say(`{"type":"control_cancel_request","request_id":"u-1"}`)
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		var a asked
		var cause error
		o.Hooks = []hook.Hook{hook.PreToolUse("", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, nil
		}), a.hook("next", "", nil)}
		s := connect(t, o)
		pass(5 * time.Second)
		if cause == nil || errors.Is(cause, claude.ErrTimeout) || len(a.calls) != 0 {
			t.Errorf("ended by %v, then asked %q", cause, a.calls)
		}
		finish(t, s)
	})
}

// A guard that guards nothing, and hooks that cannot be put in order, are refused.
func TestHooksOutOfOrder(t *testing.T) {
	allow := func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	for _, matcher := range []string{"Bahs", "bash.*", "B", "Bash|Bahs", "mcp__github", "bash", "^Bahs$", ",", "|"} {
		_, err := claude.Connect(t.Context(), &claude.Options{Hooks: []hook.Hook{hook.Guard(matcher, allow)}})
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != "Hooks[0]" {
			t.Errorf("a guard of %q: %v", matcher, err)
		}
	}
	for _, hooks := range [][]hook.Hook{
		{noHook().At(hook.StageGuard)},
		{noTool().At(7)},
	} {
		if _, ok := errors.AsType[*claude.OptionError](errorOf(claude.Connect(t.Context(), &claude.Options{Hooks: hooks}))); !ok {
			t.Errorf("%+v: not refused", hooks[len(hooks)-1])
		}
	}
	for _, matcher := range []string{"", "*", "Bash", "Bash|Write", "^Ba", "mcp__github__push", "mcp__github__.*", ".*", "^(?!Bash)"} {
		bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
			o.Hooks = []hook.Hook{hook.Guard(matcher, allow).FailOpen()}
			finish(t, connect(t, o))
		})
	}
}

func errorOf[T any](_ T, err error) error { return err }
