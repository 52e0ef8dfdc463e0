package permission_test

import (
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

func TestParseRule(t *testing.T) {
	tests := []struct {
		in   string
		want permission.Rule
		text string // as it is written again
	}{
		{"Read", permission.Rule{ToolName: "Read"}, "Read"},
		{" Read ", permission.Rule{ToolName: "Read"}, "Read"},
		{"Bash(*)", permission.Rule{ToolName: "Bash"}, "Bash"},
		{"Bash()", permission.Rule{ToolName: "Bash"}, "Bash"},
		{"Bash(git:*)", permission.Rule{ToolName: "Bash", RuleContent: "git:*"}, "Bash(git:*)"},
		{"Bash(git log *)", permission.Rule{ToolName: "Bash", RuleContent: "git log *"}, "Bash(git log *)"},
		{`Bash(echo \(a\) \\)`, permission.Rule{ToolName: "Bash", RuleContent: `echo (a) \`}, `Bash(echo \(a\) \\)`},
		{"Bash(echo (a))", permission.Rule{ToolName: "Bash", RuleContent: "echo (a)"}, `Bash(echo \(a\))`},
		{"Bash(echo (a), b)", permission.Rule{ToolName: "Bash", RuleContent: "echo (a), b"}, `Bash(echo \(a\), b)`},
		{"mcp__x__*", permission.Rule{ToolName: "mcp__x__*"}, "mcp__x__*"},
	}
	for _, tt := range tests {
		got, err := permission.ParseRule(tt.in)
		if err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("ParseRule(%q) = %+v (%s), %v, want %+v (%s)", tt.in, got, got, err, tt.want, tt.text)
		}
	}
	for _, in := range []string{"", "(x)", "Bash(git", "Bash git", "Bash) (", "Bash(a)b", "Read,Write", "Read, Write", "Bash(a),Write(b)", "Bash(a) Write(b)", `Bash(\(a),b)c)`} {
		if got, err := permission.ParseRule(in); err == nil {
			t.Errorf("ParseRule(%q) = %+v, want an error", in, got)
		}
	}
}
