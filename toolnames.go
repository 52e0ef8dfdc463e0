package claude

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// A matcher or a rule for a tool that does not exist is silent for ever, so the
// names are compared with the tools that the CLI lists at the beginning of a
// turn. Unknown names are not an error: tools come and go with versions.

// toolNames are what the options say about tools: names, and matchers that are
// regular expressions. Patterns of rules, such as mcp__*, are left out.
func (o *Options) toolNames() (names []string, patterns []*regexp.Regexp) {
	add := func(name string) {
		if name != "" && !strings.Contains(name, "*") && !slices.Contains(names, name) && !builtIn(name) {
			names = append(names, name)
		}
	}
	for _, h := range o.Hooks {
		switch {
		case !matchesTools(h.Event) || h.Matcher == "" || h.Matcher == "*":
		case plainMatcher.MatchString(h.Matcher):
			for _, name := range splitNames(h.Matcher) {
				add(name)
			}
		default:
			if pattern, err := regexp.Compile(h.Matcher); err == nil {
				patterns = append(patterns, pattern)
			}
		}
	}
	for _, rule := range slices.Concat(o.AllowedTools, o.DisallowedTools) {
		if parsed, err := permission.ParseRule(rule); err == nil {
			add(parsed.ToolName)
		}
	}
	return names, patterns
}

// checkTools compares the names in the options with the tools that the CLI
// lists, and logs once which of them it does not have. While a server of MCP
// tools is not connected it waits for the next list.
func (s *Session) checkTools(line []byte) {
	if s.start.toolsChecked {
		return
	}
	names, patterns := s.opts.toolNames()
	var init message.Init
	if len(names)+len(patterns) > 0 && jsonx.Unmarshal(line, &init) != nil {
		return
	}
	pending := slices.ContainsFunc(init.MCPServers, func(m message.InitMCPServer) bool { return m.Status == "pending" })
	if s.start.toolsChecked = !pending; pending {
		return
	}
	known := slices.Concat(init.Tools, permission.BuiltInTools())
	var unknown, nearest []string
	for _, name := range names {
		// A rule for a server, or for what a server may bring later.
		fits := func(tool string) bool { return tool == name || strings.HasPrefix(tool, name+"__") }
		if !slices.ContainsFunc(known, fits) {
			unknown, nearest = append(unknown, name), append(nearest, nearestName(name, known))
		}
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(known, pattern.MatchString) {
			unknown, nearest = append(unknown, pattern.String()), append(nearest, nearestName(pattern.String(), known))
		}
	}
	if len(unknown) > 0 {
		s.log.Warn("matchers or rules name tools that the CLI does not have", "names", unknown, "nearest", nearest)
	}
}

// nearestName returns the name that is reached with the fewest edits.
func nearestName(name string, known []string) string {
	best, fewest := "", len(name)+1
	for _, k := range known {
		if n := edits(name, k); n < fewest {
			best, fewest = k, n
		}
	}
	return best
}

// edits is how many characters must be put in, taken out or changed.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0] // of the row above
		row[0] = i + 1
		for j := range len(b) {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

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
