package matcher

import (
	"errors"
	"testing"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"", "Bash", true},
		{"*", "Bash", true},
		{"Bash", "Bash", true},
		{"Bash", "BashOutput", false},
		{"bash", "Bash", false},
		{"Edit | Bash", "Bash", true},
		{"Edit,Bash", "Bash", true},
		{"Task", "Agent", true},
		{"Agent", "Task", true},
		{"Task", "TaskList", false},
		{"^Task$", "Agent", true},
		{"^Task$", "Bash", false},
		{"KillBash", "TaskStop", true},
		{"^Kill", "TaskStop", true},
		{"mcp__a-b__c", "mcp__a-b__c", true},
		{"B.sh", "Bash", true},
		{".as", "Bash", true},
		{"^as", "Bash", false},
		{"^(Read|Write)$", "Write", true},
		{"^(Read|Write)$", "Writes", false},
		{"mcp__x__.*", "mcp__x__y", true},
		{"^(?!Bash)", "Bash", false},
		{"^(?!Bash)", "Write", true},
		{"^(?!Bash$).*", "BashOutput", true},
		{"^(?!(Read|Bash)$).*", "Bash", false},
		{"^(?!mcp__)W", "Write", true},
		{"^(?!mcp__)W", "Read", false},
	}
	for _, tt := range tests {
		fits, err := Compile(tt.pattern)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		if got := fits(tt.name); got != tt.want {
			t.Errorf("%q fits %q: got %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}

// What Go reads differently from JavaScript is not compared here at all.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for pattern, foreign := range map[string]bool{
		"(?=Bash)": true, "Ba(?!sh)": true, `(B)\1`: true, "(?i)bash": true, "(?P<n>Bash)": true, `\ABash`: true,
		`\QBash\E`: true, `\pL+`: true, "[[:alpha:]]+": true, "^(?!Bash)x|y": true, "^(?!(?=x)y)": true, "(?<n>Bash)": true,
		"Bash(": false, "[": false, "*Bash": false,
	} {
		_, err := Compile(pattern)
		if err == nil || errors.Is(err, ErrForeign) != foreign {
			t.Errorf("%q: got %v, want foreign: %v", pattern, err, foreign)
		}
	}
}
