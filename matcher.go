package claude

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// The CLI takes any matcher, and never calls a hook whose matcher fits nothing.
// Names are compared exactly; other characters than those of names make it a
// regular expression, and one that cannot be compiled fits nothing.

// plainMatcher is a matcher of names.
var plainMatcher = regexp.MustCompile(`^[A-Za-z0-9_-]+([ ]*[|,][ ]*[A-Za-z0-9_-]+)*$`)

// matchesTools reports whether the matcher of an event is about tools.
func matchesTools(e hook.Event) bool {
	info, _ := e.Info()
	return info.Subject == hook.SubjectTool
}

// checkMatcher refuses a matcher with which a hook would never be called. It
// returns what is wrong, "" for nothing.
func checkMatcher(h hook.Hook) string {
	if h.Matcher == "" || h.Matcher == "*" {
		return ""
	}
	if plainMatcher.MatchString(h.Matcher) {
		if !matchesTools(h.Event) {
			return ""
		}
		for _, name := range splitNames(h.Matcher) {
			if right := otherCase(name); right != "" {
				return fmt.Sprintf("the matcher %q never fits: the tool is %s", h.Matcher, right)
			}
		}
		return ""
	}
	if name, rest, ok := strings.Cut(h.Matcher, "("); ok && strings.HasSuffix(rest, ")") && matchesTools(h.Event) && builtIn(name) {
		return fmt.Sprintf("the matcher %q is a rule: a matcher names tools, as in %q; what they do is for the hook to look at", h.Matcher, name)
	}
	// What only the CLI's regular expressions have, such as looking ahead, is
	// left to it.
	_, err := regexp.Compile(h.Matcher)
	if bad, ok := errors.AsType[*syntax.Error](err); ok && bad.Code != syntax.ErrInvalidPerlOp && bad.Code != syntax.ErrInvalidEscape {
		return fmt.Sprintf("the matcher %q is not a regular expression: %s", h.Matcher, bad.Code)
	}
	return ""
}

func splitNames(matcher string) []string {
	names := strings.FieldsFunc(matcher, func(r rune) bool { return r == '|' || r == ',' })
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

func builtIn(name string) bool { return slices.Contains(permission.BuiltInTools(), name) }

// otherCase returns the built-in tool whose name differs from this one only in
// case, "" if there is none.
func otherCase(name string) string {
	for _, known := range permission.BuiltInTools() {
		if name != known && strings.EqualFold(name, known) && !builtIn(name) {
			return known
		}
	}
	return ""
}
