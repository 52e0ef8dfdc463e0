package policy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// console is a program that takes commands of its own, among them such that
// start others.
type console struct {
	names string
	// plain are the arguments, and what it reads, that start nothing; nil: it
	// must not read anything, and options may be commands.
	plain *regexp.Regexp
}

var consoles = []console{
	{names: " vim vi nvim view vimdiff emacs nano ex ed red lldb "},
	{names: " gdb ", plain: regexp.MustCompile(`^(--?(batch|quiet|q|nx|ex|p|core|args|return-child-result)(=\d+)?|(bt|backtrace|where|run|r|c|continue|up|down|q|quit|frame|finish|next|step|info|thread|list|disassemble|break|b)( [\w ./:*]*)?|[\w./][\w./-]*|)$`)},
	{names: " tmux screen ", plain: regexp.MustCompile(`^(ls|list-\w+|has-session|kill-session|kill-server|info|-V|-ls|-t|[A-Za-z0-9]+)$`)},
	{names: " sqlite3 ", plain: regexp.MustCompile(`(?is)^(-(readonly|header|csv|json|column|line|list|box|table|markdown|batch|bail)|\.(tables|schema|dump|databases|indexes)[ \w]*|[^-.].*|)$`)},
	{names: " psql ", plain: regexp.MustCompile(`^([^\\]*|\\(d[a-zA-Z]*\+?|l\+?|x|conninfo|timing)( [\w.*]+)?)$`)},
	{names: " mysql mariadb ", plain: regexp.MustCompile(`^[^\\]*$`)},
}

// consoleCode are words by which a database starts a program, or writes what
// may be one.
var consoleCode = regexp.MustCompile(`(?i)\b(edit|load_extension|writefile|readfile)\s*\(|\bprogram\b|\bsystem\b|\bnew-session\b|(^|\n)\s*[.\\!]\w*\s.*\|`)

// console reads the arguments of a console, and what it is told.
func (s *script) console(name string, words []string, in input) {
	at := slices.IndexFunc(consoles, func(c console) bool { return listed(c.names, name) })
	if at < 0 {
		return
	}
	c := consoles[at]
	if in.file != "" && c.plain != nil {
		s.runFile(in.file)
	}
	if len(words) == 2 && words[1] == "--version" {
		return
	}
	if at := slices.IndexFunc(words, func(w string) bool { return w == "--args" || w == "-args" }); name == "gdb" && at > 0 {
		s.command(words[at+1:], in)
		words = words[:at]
	}
	if c.plain == nil {
		reads := s.piped > 0 || in.other || in.file != "" || len(in.texts) > 0
		if reads || listed(" ex ed red ", name) || slices.ContainsFunc(words[1:], func(w string) bool { return !static(w) || strings.IndexByte("-+!", (w + " ")[0]) >= 0 }) {
			s.fail("%s runs what it is told", name)
		}
		return
	}
	told := slices.Concat(words[1:], in.texts)
	if s.piped > 0 {
		told = append(told, string(anyText))
	}
	for _, text := range told {
		if whollyUnknown(text) && s.piped == 0 || listed(" psql mysql mariadb ", name) && strings.HasPrefix(text, "-") && static(text) {
			continue // the address of a database, and options
		}
		if !static(text) || consoleCode.MatchString(text) || slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return !c.plain.MatchString(line) }) {
			s.fail("%s may start what it is told", name)
		}
	}
}

// git reads what git runs beside itself: hooks, and what its settings name.
func (s *script) git(words []string) {
	s.ran = append(s.ran, ".gitconfig", "config", ".gitattributes", gitHook)
	for i, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && static(word) {
			s.ran = append(s.ran, "git-"+word)
		}
		if strings.HasPrefix(word, "--config-env") || strings.Contains(strings.ToLower(word), "help.autocorrect") {
			s.fail("git is told to run another command")
		}
		s.hooks = s.hooks || hooksSetting.MatchString(word)
		name, value, joined := strings.Cut(word, "=")
		if lower := strings.ToLower(name); !strings.HasPrefix(lower, "alias.") {
			continue
		}
		if !joined && i+2 < len(words) {
			value = words[i+2]
		}
		s.alias(value)
	}
	if i := slices.Index(words, "subtree"); i > 0 && slices.Contains(words[i:], "push") {
		s.commands = append(s.commands, command{words: []string{"git", "push"}})
	}
}

// hooksSetting are settings and options that say where git finds the programs
// that it runs by itself, or more settings.
var hooksSetting = regexp.MustCompile(`(?i)hookspath|templatedir|^--template|^include(if\..*)?\.path`)

// alias reads what an alias of git stands for.
func (s *script) alias(value string) {
	if code, ok := strings.CutPrefix(value, "!"); ok {
		s.certain(code)
		return
	}
	if fields := strings.Fields(unquoted(value)); len(fields) > 0 {
		s.command(append([]string{"git"}, fields...), input{})
	}
}

// spelled refuses options that are spelled by an expansion, for programs that
// run something by an option: what a text prints itself, or keeps in a variable,
// it could have written down.
func (s *script) spelled(args []*syntax.Word) {
	name, _ := literalText(args[0])
	name = base(name)
	if !slices.ContainsFunc(running, func(r runningOption) bool { return r.whole && listed(r.programs, name) }) {
		return
	}
	for i, w := range args[1:] {
		if before, ok := literalText(args[i]); ok && listed(messages, before) {
			continue
		}
		if spells(w.Parts) {
			s.fail("%s gets options that are not known before", name)
		}
		for _, value := range (expander{values: s.vars}).word(w) {
			for _, field := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
				if _, plain := literalText(w); !plain && strings.HasPrefix(field, "-") && s.runsArguments(name, []string{name, field}) {
					s.fail("%s gets options that are not known before", name)
				}
			}
		}
	}
}

// messages are the options after which a text is a text.
const messages = " -m -am -F --message --body --title --notes -b -t --author --date --format "

// spells reports whether a word begins with what a command prints that was
// told what to print.
func spells(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			return strings.HasPrefix(p.Value, "-") && len(parts) > 1 && slices.ContainsFunc(parts[1:], func(q syntax.WordPart) bool { return spells([]syntax.WordPart{q}) })
		case *syntax.DblQuoted:
			return spells(p.Parts)
		case *syntax.CmdSubst:
			found := false
			for _, stmt := range p.Stmts {
				syntax.Walk(stmt, func(node syntax.Node) bool {
					switch n := node.(type) {
					case *syntax.Redirect:
						found = found || n.Op == syntax.WordHdoc || n.Hdoc != nil
					case *syntax.CallExpr:
						if len(n.Args) > 0 {
							name, _ := literalText(n.Args[0])
							found = found || listed(" echo printf ", base(name))
						}
					}
					return true
				})
			}
			return found
		default:
			return false
		}
	}
	return false
}
