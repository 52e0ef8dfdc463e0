package permission

import (
	"fmt"
	"strings"
)

// ParseRule parses a rule as written in settings files and on command lines:
// "Read" for all calls of a tool, or "Bash(git status)" with the content in
// parentheses. "Bash()" and "Bash(*)" are the same as "Bash". Inside the
// content, write a backslash before a literal parenthesis or backslash. The
// text must be a single rule: a comma or a blank after it, which separates
// rules in lists, is an error.
func ParseRule(text string) (Rule, error) {
	name, rest, narrowed := strings.Cut(strings.TrimSpace(text), "(")
	r := Rule{ToolName: name}
	switch {
	case name == "" || strings.ContainsAny(name, ", \t\r\n)"):
		return Rule{}, fmt.Errorf("permission: rule %q names no tool", text)
	case !narrowed:
		return r, nil
	case !strings.HasSuffix(rest, ")"):
		return Rule{}, fmt.Errorf("permission: rule %q does not end with a parenthesis", text)
	}
	content := strings.TrimSuffix(rest, ")")
	if severed(content) {
		return Rule{}, fmt.Errorf("permission: rule %q would be read as several", text)
	}
	if content != "*" {
		r.RuleContent = strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`).Replace(content)
	}
	return r, nil
}

// severed reports whether a list of rules would be cut inside this content:
// at a comma or a blank after its parentheses have been closed. A parenthesis
// behind a backslash is text.
func severed(content string) bool {
	depth := 1
	for i := 0; i < len(content); i++ {
		switch content[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case ',', ' ', '\t', '\n':
			if depth <= 0 {
				return true
			}
		}
	}
	return false
}

// String returns the rule in the form that [ParseRule] reads.
func (r Rule) String() string {
	if r.RuleContent == "" {
		return r.ToolName
	}
	return r.ToolName + "(" + strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(r.RuleContent) + ")"
}
