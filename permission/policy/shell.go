package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// matchShell compares a shell command with the rules for Bash and, for denying,
// also with those for files.
func (r *Rules) matchShell(req *permission.Request, how reading) (bool, error) {
	var in struct {
		Command string `json:"command"`
	}
	if err := decode(req, &in); err != nil {
		return false, err
	}
	if how == strict {
		return r.allowsScript(req, in.Command), nil
	}
	s := readScript(in.Command)
	effort := maxEffort + len(in.Command)
	return s.unread != "" || r.deniesCommands(in.Command, s, &effort) || r.deniesFiles(req, s, &effort), nil
}

// deniesCommands reports whether a rule for Bash fits one of the commands.
func (r *Rules) deniesCommands(text string, s *script, effort *int) bool {
	return slices.ContainsFunc(r.rules, func(rule rule) bool {
		if rule.ToolName != "Bash" || rule.RuleContent == "" {
			return false
		}
		return rule.fitsText(strings.TrimSpace(text)) || slices.ContainsFunc(s.commands, func(c command) bool { return rule.deniesCommand(c, effort) })
	})
}

// fitsText compares the text of a command with the content of a rule, as the
// CLI does.
func (r rule) fitsText(command string) bool {
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

// deniesCommand compares a command with a rule broadly: by the name of the
// program wherever it is, with other options in between and, where the program
// may run its arguments, from each of them on. Too much effort denies.
func (r rule) deniesCommand(c command, effort *int) bool {
	content, whole := r.RuleContent, false
	switch {
	case strings.HasSuffix(content, ":*"):
		content = strings.TrimSuffix(content, ":*")
	case strings.HasSuffix(content, " *"):
		content = strings.TrimSuffix(content, " *")
	default:
		whole = !strings.Contains(content, "*")
	}
	if strings.Contains(content, "*") {
		return r.deniesPattern(c, effort)
	}
	want := ruleWords(content)
	if len(want) == 0 {
		return false
	}
	if fitsWords(want, c.words, whole, effort) {
		return true
	}
	if !c.open {
		return false
	}
	for _, words := range openWords(c.words) {
		for i := range words {
			if i > 0 && !whollyUnknown(base(words[i])) && base(words[i]) != string(anyName) && fitsWords(want, words[i:], whole, effort) {
				return true
			}
		}
	}
	return *effort < 0
}

// openWords returns the pieces of the words of a command, as written and, if
// that differs, without quotes.
func openWords(words []string) [][]string {
	var all, bare []string
	quoted := false
	for _, word := range words {
		all = append(all, pieces(word)...)
		without := unquoted(word)
		quoted = quoted || without != word
		bare = append(bare, pieces(without)...)
	}
	if !quoted {
		return [][]string{all}
	}
	return [][]string{all, bare}
}

func unquoted(text string) string { return without(text, `"'\`) }

// without removes characters from a text.
func without(text, chars string) string {
	if !strings.ContainsAny(text, chars) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(chars, r) {
			return -1
		}
		return r
	}, text)
}

// pieces cuts a text wherever a program that runs it might cut.
func pieces(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < 0x80 && !isLetter(byte(r)) && !strings.ContainsRune("_-./+~", r)
	})
}

// ruleWords returns the words of a rule, without quotes.
func ruleWords(content string) []string {
	return strings.Fields(without(content, `"'`))
}

// fitsWords reports whether a rule names a command: its program, then the words
// of the rule in this order, with options in between that the rule does not
// name. Options of the rule may be anywhere. An unknown word may be any of
// them.
func fitsWords(want, words []string, whole bool, effort *int) bool {
	if !spend(effort, 1) {
		return true
	}
	if len(words) == 0 || !sameName(want[0], words[0], effort) {
		return false
	}
	if !spend(effort, len(words)) {
		return true
	}
	rest := words[1:]
	at := 0
	for _, w := range want[1:] {
		if strings.HasPrefix(w, "-") {
			if !hasOption(w, rest) {
				return false
			}
			continue
		}
		next := findWord(w, rest, at, effort)
		if next < 0 {
			return false
		}
		at = next + 1
	}
	// A rule without a star is for a command without further words.
	return !whole || len(words) <= len(want) || !allStatic(words)
}

func allStatic(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !static(w) })
}

// findWord returns where the next word that is neither an option nor the value of
// one may be w; -1 if nowhere.
func findWord(w string, words []string, from int, effort *int) int {
	for i := from; i < len(words); i++ {
		if overlap(literal(w), wordSteps(words[i], true), effort) {
			return i
		}
		option := strings.HasPrefix(words[i], "-") || !static(words[i])
		value := i > from && strings.HasPrefix(words[i-1], "-")
		if !option && !value {
			return -1
		}
	}
	return -1
}

// hasOption reports whether an option of a rule may be among the words, even
// with others in one word.
func hasOption(option string, words []string) bool {
	letters := ""
	for _, w := range words {
		if w == option || strings.HasPrefix(w, option+"=") || strings.ContainsRune(w, anyText) || strings.ContainsRune(w, anyWords) {
			return true
		}
		if len(w) > 1 && w[0] == '-' && w[1] != '-' {
			letters += w[1:]
		}
	}
	return option[1:] != "" && option[1] != '-' && strings.Trim(option[1:], letters) == ""
}

// sameName compares the name of a program with a word that runs one. A partly
// known word may be any name that its known part allows.
func sameName(want, word string, effort *int) bool {
	if !static(word) {
		return overlap(literal(base(want)), wordSteps(base(word), true), effort)
	}
	if want == word || base(want) == base(word) && !strings.Contains(want, "/") {
		return true
	}
	return strings.Contains(want, "/") && base(want) == base(word) && strings.HasSuffix(word, strings.TrimLeft(want, "./~"))
}

// deniesPattern compares a command with a pattern that has stars inside.
func (r rule) deniesPattern(c command, effort *int) bool {
	fits := func(words []string) bool {
		bare := append([]string{base(words[0])}, words[1:]...)
		for i, list := range [][]string{words, bare} {
			text := strings.Join(list, " ")
			if !spend(effort, len(text)) {
				return true
			}
			if i > 0 && bare[0] == words[0] {
				break // the same text
			}
			if r.fitsText(text) {
				return true
			}
			// Unknown parts may supply the missing ones.
			if i := strings.IndexFunc(text, isUnknown); i >= 0 {
				fixed, _, _ := strings.Cut(r.RuleContent, "*")
				if n := min(i, len(fixed)); text[:n] == fixed[:n] {
					return true
				}
			}
		}
		return false
	}
	if len(c.words) == 0 {
		return false
	}
	if fits(c.words) {
		return true
	}
	if !c.open {
		return false
	}
	fixed, _, _ := strings.Cut(ruleName(r.RuleContent), "*")
	for _, words := range openWords(c.words) {
		for i := 1; i < len(words) && fixed != ""; i++ {
			if static(words[i]) && strings.HasPrefix(base(words[i]), fixed) && fits(words[i:]) {
				return true
			}
		}
	}
	return false
}

func ruleName(content string) string {
	name, _, _ := strings.Cut(content, " ")
	return name
}
