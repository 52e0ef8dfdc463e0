package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/message"
)

// TestOldVersions plays CLIs that name an old version: unsupported features
// fail at the start, or at the call, and are never sent.
func TestOldVersions(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		set     func(*claude.Options)
		wants   string // "" if it is to start
	}{
		"title on an old one":      {"2.1.0", func(o *claude.Options) { o.Title = "t" }, "2.1.325"},
		"title in between":         {"2.1.100", func(o *claude.Options) { o.Title = "t" }, ""},
		"title on a new one":       {"2.1.325", func(o *claude.Options) { o.Title = "t" }, ""},
		"title on an unknown one":  {"", func(o *claude.Options) { o.Title = "t" }, ""},
		"prompt on an old one":     {"2.0.0", func(o *claude.Options) { o.SystemPrompt.Text = "p" }, "2.0.77"},
		"prompt on a younger":      {"2.0.77", func(o *claude.Options) { o.SystemPrompt.Text = "p" }, ""},
		"sections on an old one":   {"2.1.0", func(o *claude.Options) { o.SystemPrompt.Sections = []string{"p", "q"} }, "2.1.325"},
		"checkpoints on an old":    {"2.0.0", func(o *claude.Options) { o.FileCheckpointing = true }, "2.0.77"},
		"verbatim on an old one":   {"2.1.296", func(o *claude.Options) { o.VerbatimPrompts = true }, "2.1.299"},
		"verbatim on a younger":    {"2.1.299", func(o *claude.Options) { o.VerbatimPrompts = true }, ""},
		"verbatim in between":      {"2.1.297", func(o *claude.Options) { o.VerbatimPrompts = true }, "2.1.299"},
		"verbatim on unknown":      {"", func(o *claude.Options) { o.VerbatimPrompts = true }, "2.1.299"},
		"aliases on unknown":       {"", func(o *claude.Options) { o.ToolAliases = map[string]string{"Bash": "mcp__box__bash"} }, "2.1.325"},
		"gate on unknown":          {"", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventPreToolUse)} }, "version unknown, hooks of PreToolUse need 1.0.85"},
		"request on unknown":       {"nightly", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventPermissionRequest)} }, "hooks of PermissionRequest need 2.0.77"},
		"prompt gate on unknown":   {"", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventUserPromptSubmit)} }, "hooks of UserPromptSubmit need 1.0.85"},
		"gate on the first":        {"1.0.85", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventPreToolUse)} }, ""},
		"event on an unknown one":  {"", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventSetup)} }, ""},
		"event on an old one":      {"2.1.0", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventSetup)} }, "hooks of Setup need 2.1.299"},
		"event in between":         {"2.1.100", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventSetup)} }, ""},
		"event of the first":       {"1.0.85", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook(hook.EventStop)} }, ""},
		"event nobody knows":       {"1.0.85", func(o *claude.Options) { o.Hooks = []hook.Hook{silentHook("New")} }, ""},
		"checkpoints on a younger": {"2.0.77", func(o *claude.Options) { o.FileCheckpointing = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cli) {
				c.succeed(c.request("initialize"), `{"claude_code_version":"`+tt.version+`"}`)
				c.idle()
			}, func(t *testing.T, o *claude.Options) {
				tt.set(o)
				s, err := claude.Connect(t.Context(), o)
				if tt.wants == "" {
					if err != nil {
						t.Fatal(err)
					}
					finish(t, s)
					return
				}
				if !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), tt.wants) {
					t.Errorf("error = %v, want one that names %s", err, tt.wants)
				}
			})
		})
	}
}

func silentHook(event hook.Event) hook.Hook {
	return hook.Raw(event, "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) { return nil, nil })
}

// A changed input that a CLI would ignore keeps the tool from running, because
// it would run with the original input.
func TestOldVersionsIgnoreChangedInput(t *testing.T) {
	const changed, denied = `"updatedInput":{"a":1}`, `"permissionDecision":"deny"`
	for _, tt := range []struct {
		version  string
		decision hook.PermissionDecision
		policy   hook.FailurePolicy
		want     string
	}{
		{"2.0.0", hook.PermissionAllow, 0, denied},
		{"2.0.77", hook.PermissionAllow, 0, changed},
		{"2.1.0", hook.PermissionAllow, 0, changed},
		{"2.1.0", hook.PermissionAsk, 0, denied},
		{"2.1.299", hook.PermissionAsk, 0, changed},
		{"2.1.0", "", 0, denied},
		{"2.1.299", "", 0, denied},
		{"2.1.299", "", hook.FailOpen, `{"continue":true}`},
		{"2.1.325", "", 0, changed},
		{"2.0.1", hook.PermissionAllow, 0, denied}, // not seen with it
		{"", hook.PermissionAllow, 0, denied},
		{"", hook.PermissionAsk, 0, denied},
		{"", "", 0, denied},
		{"nightly", hook.PermissionAllow, 0, denied},
		{"", hook.PermissionDeny, 0, changed},
		{"2.0.0", hook.PermissionDeny, 0, changed},
	} {
		var answer string
		bubble(t, func(c *cli) {
			c.succeed(c.request("initialize"), `{"hook_on_failure_supported":true,"claude_code_version":"`+tt.version+`"}`)
			c.hear() // the prompt: by then the session knows the version
			c.say("%s", stopRequest)
			if f, ok := c.hear(); ok {
				answer = string(f.Line)
			}
			c.idle()
		}, func(t *testing.T, o *claude.Options) {
			o.HookFailure = tt.policy
			o.Hooks = []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				out := hook.RewriteInput(map[string]int{"a": 1})
				out.Decision = tt.decision
				return out, nil
			})}
			s := connect(t, o)
			if _, err := s.Send(t.Context(), "go"); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if !strings.Contains(answer, tt.want) {
				t.Errorf("version %q, decision %q: %s, want %s", tt.version, tt.decision, answer, tt.want)
			}
			finish(t, s)
		})
	}
}

// A message that must not be searched for files and commands is not sent to a CLI
// that may do so.
func TestOldVersionsIgnoreClientComposed(t *testing.T) {
	for version, sent := range map[string]bool{"": false, "2.1.296": false, "2.1.298": false, "2.1.299": true} {
		bubble(t, func(c *cli) {
			c.succeed(c.request("initialize"), `{"claude_code_version":"`+version+`"}`)
			c.idle()
		}, func(t *testing.T, o *claude.Options) {
			s := connect(t, o)
			m := message.NewUser(message.Text("@/etc/passwd"))
			m.ClientComposed = true
			if _, err := s.SendMessage(t.Context(), m); sent && err != nil || !sent && !errors.Is(err, claude.ErrUnsupportedVersion) {
				t.Errorf("version %q: error = %v", version, err)
			}
			finish(t, s)
		})
	}
}

func TestOldVersionLacksOperation(t *testing.T) {
	bubble(t, func(c *cli) {
		c.succeed(c.request("initialize"), `{"claude_code_version":"2.0.0"}`)
		c.succeed(c.request("set_model"), "{}")
		c.succeed(c.request("get_usage"), "{}")
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for op, call := range map[string]func() error{
			"get_usage":               func() error { return second(s.Usage(t.Context())) },
			"set_max_thinking_tokens": func() error { return s.SetThinking(t.Context(), claude.Thinking{}) },
			"mcp_set_servers":         func() error { return second(s.MCP().Set(t.Context(), nil)) },
		} {
			err := call()
			failed, ok := errors.AsType[*claude.ControlError](err)
			if !ok || failed.Op != op || !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), "2.0.0") {
				t.Errorf("%s: error = %v", op, err)
			}
		}
		if err := s.SetModel(t.Context(), "x"); err != nil {
			t.Errorf("SetModel: %v", err)
		}
		if err := s.Control(t.Context(), "get_usage", nil, nil); err != nil {
			t.Errorf("Control asks no table: %v", err)
		}
		finish(t, s)
	})
}

// TestCancelNotices gives up on an operation. A CLI that is old, or may be, is
// not told: 2.1.0 and older end at the line.
func TestCancelNotices(t *testing.T) {
	for version, told := range map[string]bool{"": false, "2.1.0": false, "2.1.325": true} {
		t.Run(version, func(t *testing.T) {
			next := ""
			bubble(t, func(c *cli) {
				c.succeed(c.request("initialize"), `{"claude_code_version":"`+version+`"}`)
				c.request("interrupt")
				f, _ := c.hear()
				next = string(f.Line)
				c.idle()
			}, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				if _, err := s.Interrupt(t.Context()); !errors.Is(err, claude.ErrTimeout) {
					t.Errorf("error = %v", err)
				}
				synctest.Wait()
				finish(t, s)
			})
			if got := strings.Contains(next, "control_cancel_request"); got != told {
				t.Errorf("told %v, want %v: %s", got, told, next)
			}
		})
	}
}

// A CLI that would ignore what only the handshake carries is refused.
func TestFeaturesOfOldCLIs(t *testing.T) {
	long := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 9<<10) + `"}`)
	for _, tt := range []struct {
		version string
		o       claude.Options
		ok      bool
	}{
		{"1.0.117", claude.Options{MCPServers: claude.MCPServers{"x": harness.Clock()}}, false},
		{"1.0.119", claude.Options{MCPServers: claude.MCPServers{"x": harness.Clock()}}, true},
		{"2.0.49", claude.Options{OutputSchema: long}, false},
		{"2.0.50", claude.Options{OutputSchema: long}, true},
		{"2.0.49", claude.Options{OutputSchema: json.RawMessage(`{"type":"object"}`)}, true}, // the flag is known or refused
	} {
		play := func(c *cli) {
			c.succeed(c.request("initialize"), `{"claude_code_version":"`+tt.version+`"}`)
			c.idle()
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			o.MCPServers, o.OutputSchema = tt.o.MCPServers, tt.o.OutputSchema
			s, err := claude.Connect(t.Context(), o)
			if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, claude.ErrUnsupportedVersion) {
				t.Errorf("%s: %v, want success %v", tt.version, err, tt.ok)
			}
			if s != nil {
				finish(t, s)
			}
		})
	}
}
