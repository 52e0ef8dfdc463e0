package claude_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
)

func TestMatchers(t *testing.T) {
	for matcher, want := range map[string]string{ // what the error says; empty: none
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
