package claude_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
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
