package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

func TestIgnoredOptions(t *testing.T) {
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

func TestOptionWarnings(t *testing.T) {
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

// TestUnknownTools compares names in matchers and rules with the list of the
// CLI: a missing one is logged once, with the nearest name, when all servers
// are connected.
func TestUnknownTools(t *testing.T) {
	const tools = `"tools":["Bash","Read","Write","mcp__docs__search"]`
	for name, tt := range map[string]struct {
		matchers, rules []string
		lists           []string // of one turn each
		want            []string // in the log; none: nothing is logged
		tools           []string // Options.Tools
	}{
		"known":           {[]string{"Bash|Read", "mcp__docs__search", "mcp__.*", "^(Read|Write)$", ""}, []string{"Bash(ls:*)", "mcp__docs", "mcp__*", "Glob"}, []string{tools}, nil, nil},
		"a typing error":  {[]string{"Bahs"}, nil, []string{tools}, []string{"Bahs", "nearest=[Bash]"}, nil},
		"a rule":          {nil, []string{"Wirte"}, []string{tools}, []string{"Wirte", "nearest=[Write]"}, nil},
		"a tool of MCP":   {[]string{"mcp__docs__serach"}, nil, []string{tools}, []string{"mcp__docs__search]"}, nil},
		"a pattern":       {[]string{"^mcp__dosc__.*$"}, nil, []string{tools}, []string{"^mcp__dosc__.*$"}, nil},
		"new in the CLI":  {[]string{"Brandnew"}, nil, []string{`"tools":["Brandnew"]`}, nil, nil},
		"once":            {[]string{"Bahs"}, nil, []string{tools, tools}, []string{"Bahs"}, nil},
		"not yet there":   {[]string{"mcp__late__x"}, nil, []string{tools + `,"mcp_servers":[{"name":"late","status":"pending"}]`}, nil, nil},
		"there at last":   {[]string{"mcp__late__x"}, nil, []string{tools + `,"mcp_servers":[{"name":"late","status":"pending"}]`, `"tools":["mcp__late__x"]`}, nil, nil},
		"not there later": {[]string{"mcp__late__x"}, nil, []string{tools + `,"mcp_servers":[{"name":"late","status":"pending"}]`, tools}, []string{"mcp__late__x"}, nil},
		"a tool":          {nil, nil, []string{tools}, []string{"Raed", "nearest=[Read]"}, []string{"Bash", "Raed"}},
		"all tools":       {nil, nil, []string{tools}, nil, []string{"default"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			bubble(t, func(c *cli) {
				c.greet()
				for _, list := range tt.lists {
					c.prompt()
					c.say(`{"type":"system","subtype":"init","session_id":"s-1",%s}`, list)
					c.result("done")
				}
				c.idle()
			}, func(t *testing.T, o *claude.Options) {
				o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
				o.AllowedTools, o.Tools = tt.rules, tt.tools
				for _, m := range tt.matchers {
					h := noHook()
					h.Event, h.Matcher = hook.EventPreToolUse, m
					o.Hooks = append(o.Hooks, h)
				}
				s := connect(t, o)
				for range tt.lists {
					if _, err := s.Ask(t.Context(), "go"); err != nil {
						t.Error(err)
					}
				}
				finish(t, s)
			})
			n := strings.Count(log.String(), "does not have")
			if want := min(len(tt.want), 1); n != want {
				t.Errorf("%d lines, want %d: %s", n, want, log.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %s: %s", want, log.String())
				}
			}
		})
	}
}

func TestMatchers(t *testing.T) {
	for matcher, want := range map[string]string{ // part of the error; empty: none
		"": "", "*": "", "Bash": "", "Write|Edit": "", "Write, Edit": "", "Bash.*": "", "^(Read|Write)$": "", "mcp__files__read": "", "mcp__(a|b)__.*": "",
		"Notebook(Edit|Read)": "", "^(?!Bash)": "", "MyTool": "", "Task|Agent": "",
		"Bash(rm:*)": "is a rule", "Read(./x)": "is a rule", "Bash()": "is a rule",
		"bash": "the tool is Bash", "Read|WRITE": "the tool is Write", "webfetch": "the tool is WebFetch",
		"(": "not a regular expression", "Bash[": "not a regular expression", "*.go": "not a regular expression",
	} {
		h := noHook()
		h.Event, h.Matcher = hook.EventPreToolUse, matcher
		_, err := claude.Connect(t.Context(), &claude.Options{Transport: unstarted{t}, Hooks: []hook.Hook{h}, OutputSchema: json.RawMessage(`7`)})
		bad, ok := err.(*claude.OptionError)
		switch {
		case !ok:
			t.Errorf("%q: %v", matcher, err)
		case want == "" && bad.Field == "Hooks[0]", want != "" && (bad.Field != "Hooks[0]" || !strings.Contains(bad.Error(), want)):
			t.Errorf("%q: %v, want %q", matcher, err, want)
		}
	}
	h := hook.SessionStart("clear", nil)
	h.Func, h.Matcher = noHook().Func, "skill"
	if _, err := claude.Connect(t.Context(), &claude.Options{Transport: unstarted{t}, Hooks: []hook.Hook{h}, OutputSchema: json.RawMessage(`7`)}); strings.Contains(err.Error(), "Hooks") {
		t.Errorf("the matcher of another event: %v", err)
	}
	h.Event = hook.EventUserPromptSubmit
	if _, err := claude.Connect(t.Context(), &claude.Options{Transport: unstarted{t}, Hooks: []hook.Hook{h}}); err == nil || !strings.Contains(err.Error(), "UserPromptSubmit has none") {
		t.Errorf("a matcher where there is none: %v", err)
	}
}

func TestRulesInAnotherCase(t *testing.T) {
	for _, o := range []claude.Options{
		{AllowedTools: []string{"read"}}, {DisallowedTools: []string{"bash(rm:*)"}}, {DisallowedTools: []string{"Bash(:*)"}}, {DisallowedTools: []string{"Bash(rm:)"}}, {DisallowedTools: []string{"Bash(rm:* x)"}}, {DisallowedTools: []string{`Bash("rm x")`}},
		{DisallowedTools: []string{"Read(.env:*)"}}, {DisallowedTools: []string{"Read(!.env)"}}, {DisallowedTools: []string{"Write(.env)"}}, {AllowedTools: []string{"Agent(rev*)"}}, {AllowedTools: []string{"WebFetch(go.dev)"}},
	} {
		o.Transport = unstarted{t}
		if _, err := claude.Connect(t.Context(), &o); err == nil || !strings.Contains(err.Error(), "never applies") {
			t.Errorf("%q, %q: %v", o.AllowedTools, o.DisallowedTools, err)
		}
	}
}

// A path with one slash belongs to the working directory. Where that is hardly
// the intention, a rule that guards nothing would start silently.
func TestRulesMeantFromRoot(t *testing.T) {
	cwd := t.TempDir()
	if err := os.Mkdir(filepath.Join(cwd, "usr"), 0o700); err != nil {
		t.Fatal(err)
	}
	for rule, refused := range map[string]bool{
		"Read(/tmp/secret)": true, "Edit(/tmp/**)": true,
		"Read(//tmp/secret)": false, "Read(/usr/x)": false, "Read(/src/x)": false, "Read(/**)": false, "Read(tmp/x)": false, "Bash(/bin/ls)": false,
	} {
		for _, o := range []claude.Options{{AllowedTools: []string{rule}}, {DisallowedTools: []string{rule}}} {
			o.Cwd, o.Transport = cwd, claudetest.New()
			s, err := claude.Connect(t.Context(), &o)
			if got := err != nil && strings.Contains(err.Error(), "write "+rule[:4]+"(//tmp/"); got != refused {
				t.Errorf("%s: %v", rule, err)
			}
			if err == nil {
				s.Close()
			}
		}
	}
}
