package claude_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
)

// A typo that the CLI would take silently is refused, with the likely name.
func TestTypos(t *testing.T) {
	for _, c := range []struct {
		opts        claude.Options
		field, want string
	}{
		{claude.Options{Tools: []string{"Read", "bash"}}, "Tools", `"bash" is not a tool: it is Bash`},
		{claude.Options{Tools: []string{"Bash(git:*)"}}, "Tools", "is a rule"},
		{claude.Options{PermissionMode: "acceptedits"}, "PermissionMode", "the modes are default, acceptEdits, bypassPermissions, plan, dontAsk, auto"},
		{claude.Options{MCPServers: claude.MCPServers{"my docs": claude.StdioServer{Command: "docs"}}}, `MCPServers["my docs"]`, "the name has a character"},
	} {
		c.opts.Transport = claudetest.New()
		_, err := claude.Connect(t.Context(), &c.opts)
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != c.field || !strings.Contains(bad.Problem, c.want) {
			t.Errorf("%s: %v, want %s", c.field, err, c.want)
		}
	}
}

// A model or mode that is almost one is refused before the CLI takes it.
func TestTyposOfSession(t *testing.T) {
	s, err := claude.Connect(t.Context(), &claude.Options{Transport: claudetest.New(), Tools: []string{"default"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Info().Models) == 0 {
		t.Fatal("the scripted CLI lists no models")
	}
	known := s.Info().Models[0].Value
	for model, want := range map[string]string{known + "x": "did you mean " + known, "my model": "blank", "a\n": "blank"} {
		err := s.SetModel(t.Context(), model)
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || !strings.Contains(bad.Problem, want) {
			t.Errorf("%q: %v, want %s", model, err, want)
		}
	}
	for _, model := range []string{"", known, "claude-sonnet-4-6", "us.anthropic.claude-opus-5", "gateway"} {
		if err := s.SetModel(t.Context(), model); err != nil {
			t.Errorf("%q: %v", model, err)
		}
	}
	err = s.SetPermissionMode(t.Context(), "Plan")
	if bad, ok := errors.AsType[*claude.OptionError](err); !ok || !strings.Contains(bad.Problem, "plan, dontAsk") {
		t.Error(err)
	}
	for _, mode := range permission.Modes() {
		if !mode.Valid() {
			t.Errorf("%s is not valid", mode)
		}
	}
}
