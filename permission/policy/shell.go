package policy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/permission"
)

// matchShell compares a shell command with the rules for Bash, and for denying
// also with those for files.
func (r *Rules) matchShell(req *permission.Request, how reading) (bool, error) {
	var in struct {
		Command string `json:"command"`
	}
	if err := decode(req, &in); err != nil {
		return false, err
	}
	fits := func(command string) bool {
		return slices.ContainsFunc(r.rules, func(rule rule) bool { return rule.ToolName == "Bash" && rule.fitsCommand(command) })
	}
	if how == broad {
		commands, files, ok := everyCommand(in.Command)
		return !ok || slices.ContainsFunc(commands, fits) || fits(strings.TrimSpace(in.Command)) ||
			r.deniesFiles(req, files), nil
	}
	commands, ok := plainCommands(in.Command)
	if !ok || len(commands) == 0 || r.unforeseen(req, commands) {
		return false, nil
	}
	return !slices.ContainsFunc(commands, func(c string) bool { return !fits(c) }), nil
}

// fitsCommand compares one command with the content of a rule.
func (r rule) fitsCommand(command string) bool {
	content := r.RuleContent
	if command == "" || content == "" {
		return false
	}
	if prefix, ok := strings.CutSuffix(content, ":*"); ok && !strings.Contains(prefix, "*") {
		return command == prefix || strings.HasPrefix(command, prefix+" ")
	}
	if !strings.Contains(content, "*") {
		return command == content
	}
	// A blank before the last star makes the arguments optional.
	if bare, ok := strings.CutSuffix(content, " *"); ok && !strings.Contains(bare, "*") && command == bare {
		return true
	}
	return r.stars.MatchString(command)
}

// wildcard turns a pattern with stars into an expression.
func wildcard(pattern string) *regexp.Regexp {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`)
}

// quiet are redirections that lead nowhere.
var quiet = regexp.MustCompile(`^[12&]?>>?( ?/dev/null|&[12])[ \t]*([\n;|]|&&|[12&]?>|$)`)

// plainCommands splits a command at the operators of the shell. It is not ok
// if there is anything in it that only a shell can understand, or that would
// hide a command: then nothing is known about what runs.
func plainCommands(text string) (commands []string, ok bool) {
	if strings.ContainsFunc(text, strange) {
		return nil, false
	}
	var b strings.Builder
	end := func() {
		if c := strings.Trim(b.String(), " \t"); c != "" {
			commands = append(commands, c)
		}
		b.Reset()
	}
	for i := 0; i < len(text); i++ {
		if i == 0 || text[i-1] == ' ' {
			if m := quiet.FindStringSubmatchIndex(text[i:]); m != nil {
				i += m[4] - 1 // what follows is looked at again
				continue
			}
		}
		switch c := text[i]; c {
		case '\'', '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 || strings.Contains(text[i+1:i+1+n], "\n") || c == '"' && strings.ContainsAny(text[i+1:i+1+n], "$`\\") {
				return nil, false
			}
			b.WriteString(text[i : i+n+2])
			i += n + 1
		case ';', '\n':
			end()
		case '|', '&':
			double := i+1 < len(text) && text[i+1] == c
			if c == '&' && !double {
				return nil, false
			}
			if double {
				i++
			}
			end()
		case '$', '`', '\\', '(', ')', '{', '}', '<', '>', '*', '?', '[', '#', '!', '\r', 0:
			return nil, false
		default:
			b.WriteByte(c)
		}
	}
	end()
	return commands, true
}

// strange reports whether a character may be a blank to one program and a
// letter to another.
func strange(c rune) bool {
	return c != ' ' && c != '\t' && c != '\n' && (unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == utf8.RuneError)
}
