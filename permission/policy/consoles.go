package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// console is a program that takes commands of its own, some of which start
// other programs.
type console struct {
	names string
	// plain fits the arguments, and the commands it reads, that start nothing;
	// nil: it must not read anything, and options may be commands.
	plain *expression
}

var consoles = []console{
	{names: " vim vi nvim view vimdiff emacs nano ex ed red lldb "},
	{names: " gdb ", plain: gdbPlain},
	{names: " tmux screen ", plain: lazily(`^(ls|list-\w+|has-session|kill-session|kill-server|info|-V|-ls|-t|[A-Za-z0-9]+)$`)},
	{names: " sqlite3 ", plain: lazily(`(?is)^(-(readonly|header|csv|json|column|line|list|box|table|markdown|batch|bail)|\.(tables|schema|dump|databases|indexes)[ \w]*|[^-.].*|)$`)},
	{names: " psql ", plain: lazily(`^([^\\]*|\\(d[a-zA-Z]*\+?|l\+?|x|conninfo|timing)( [\w.*]+)?)$`)},
	{names: " mysql mariadb ", plain: lazily(`^[^\\]*$`)},
}

// The commands, options and files of gdb that start nothing. By "run" and by
// many other commands gdb starts the program it is given, with any arguments.
var (
	gdbPlain  = lazily(`^((bt|backtrace|where)( full| -?\d+)*|(q|quit|up|down|frame|thread|f)( \d+)?|thread apply (all|\d+) (bt|backtrace|where)( full)?|(p|print) [A-Za-z_][\w.]*|(info|list|l|disassemble)( [\w ./:*]*)?|(b|break) [\w./:]+|)$`)
	gdbOption = lazily(`^--?(batch|quiet|q|nx|ex|p|core|return-child-result)(=\d+)?$`)
	gdbFile   = lazily(`^[\w./][\w./-]*$`)
)

// gdb reads the arguments of gdb. It returns those that are commands, and "?"
// for one that it does not know. With --args, which names the program, the
// command run is harmless.
func gdb(words []string, args bool) (commands []string) {
	args = args && !slices.ContainsFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") && w != "run" && !gdbPlain.MatchString(w) })
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case (w == "-ex" || w == "--ex") && i+1 < len(words):
			if i++; !args || words[i] != "run" {
				commands = append(commands, words[i])
			}
		case i > 0 && words[i-1] == "-p" && whollyUnknown(w): // the number of a process
		case !static(w) || !gdbOption.MatchString(w) && !gdbFile.MatchString(w):
			commands = append(commands, "?")
		}
	}
	return commands
}

// consoleCode are words by which a database starts a program, or writes a file
// that may be one.
var consoleCode = lazily(`(?i)\b(edit|load_extension|writefile|readfile)\s*\(|\bprogram\b|\bsystem\b|\bnew-session\b|(^|\n)\s*[.\\!]\w*\s.*\|`)

// console reads the arguments of a console, and the commands on its input.
func (c *calls) console(name string, words []string, in input) {
	at := slices.IndexFunc(consoles, func(c console) bool { return listed(c.names, name) })
	if at < 0 {
		return
	}
	plain := consoles[at].plain
	if in.file != "" && plain != nil {
		c.runFile(in.file)
	}
	if len(words) == 2 && words[1] == "--version" {
		return
	}
	if at := slices.IndexFunc(words, func(w string) bool { return w == "--args" || w == "-args" }); name == "gdb" && at > 0 {
		c.command(words[at+1:], in)
		words = append(words[:1:1], gdb(words[1:at], at+1 < len(words))...)
	} else if name == "gdb" {
		words = append(words[:1:1], gdb(words[1:], false)...)
	}
	if plain == nil {
		reads := c.piped > 0 || in.other || in.file != "" || len(in.texts) > 0
		if reads || listed(" ex ed red ", name) || slices.ContainsFunc(words[1:], func(w string) bool { return !static(w) || strings.IndexByte("-+!", (w + " ")[0]) >= 0 }) {
			c.fail("%s runs what it is told", name)
		}
		return
	}
	told := slices.Concat(words[1:], in.texts)
	if c.piped > 0 {
		told = append(told, string(anyText))
	}
	for _, text := range told {
		if whollyUnknown(text) && c.piped == 0 && name != "gdb" || listed(" psql mysql mariadb ", name) && strings.HasPrefix(text, "-") && static(text) {
			continue // the address of a database, and options
		}
		if !static(text) || consoleCode.MatchString(text) || slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return !plain.MatchString(line) }) {
			c.fail("%s may start what it is told", name)
		}
	}
}

// git reads the programs that git runs by itself: hooks, and those that its
// settings name.
func (c *calls) git(words []string) {
	c.ran = append(c.ran, ".gitconfig", "config", ".gitattributes", gitHook)
	for i, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && static(word) {
			c.ran = append(c.ran, "git-"+word)
		}
		if strings.HasPrefix(word, "--config-env") || strings.Contains(strings.ToLower(word), "help.autocorrect") {
			c.fail("git is told to run another command")
		}
		c.hooks = c.hooks || hooksSetting.MatchString(word)
		name, value, joined := strings.Cut(word, "=")
		if lower := strings.ToLower(name); !strings.HasPrefix(lower, "alias.") {
			continue
		}
		if !joined && i+2 < len(words) {
			value = words[i+2]
		}
		c.alias(value)
	}
	if slices.Contains(words, "config") && slices.ContainsFunc(words, renamesSection.MatchString) {
		c.fail("git is told to make a section of its settings another one")
	}
	if i := slices.Index(words, "for-each-repo"); i > 0 {
		c.eachRepo(words[i+1:])
	}
	if i := slices.Index(words, "subtree"); i > 0 && slices.Contains(words[i:], "push") {
		c.commands = append(c.commands, command{words: []string{"git", "push"}})
	}
}

// renamesSection matches options that rename a section of settings, maybe to alias.
var renamesSection = lazily(`^(--ren|rename-section$)`)

// eachRepo reads the command that git runs in many repositories. The first word
// may be a command, or the value of the option before it.
func (c *calls) eachRepo(words []string) {
	seen := 0
	for i, word := range words {
		if strings.HasPrefix(word, "-") {
			continue
		}
		if c.command(append([]string{"git"}, words[i:]...), input{}); seen > 0 {
			return
		}
		seen++
	}
}

// hooksSetting are settings and options that name the place of the programs
// that git runs by itself, or of further settings.
var hooksSetting = lazily(`(?i)hookspath|templatedir|^--template|^include(if\..*)?\.path`)

// alias reads the expansion of an alias of git.
func (c *calls) alias(value string) {
	if code, ok := strings.CutPrefix(value, "!"); ok {
		c.certain(code)
		return
	}
	if fields := strings.Fields(unquoted(value)); len(fields) > 0 {
		c.command(append([]string{"git"}, fields...), input{})
	}
}

// spelled refuses options that an expansion spells, for programs that run
// something by an option: a text that prints an option itself, or keeps it in a
// variable, could have written it out, so it hides something.
func (c *calls) spelled(args []*syntax.Word) {
	name, _ := literalText(args[0])
	name = base(name)
	if lang, interprets := languageOf(name); interprets {
		c.findsCode(name, lang, args[1:])
		return
	}
	if !slices.ContainsFunc(running, func(r runningOption) bool { return r.how != runsAny && listed(r.programs, name) }) {
		return
	}
	for i, w := range args[1:] {
		if before, ok := literalText(args[i]); ok && listed(messages, before) {
			continue
		}
		if spells(w.Parts) {
			c.fail("%s gets options that are not known before", name)
		}
		if _, plain := literalText(w); plain {
			continue
		}
		built := c.kept.hidden
		e := expander{values: c.vars, wordReading: c.reading(), work: &c.left, obscure: func(variable string) { built = built || c.built[variable] }}
		for _, value := range e.word(w) {
			if built && (strings.IndexFunc(value, isUnknown) == 0 || strings.HasPrefix(value, "-") && !static(value)) {
				c.fail("%s gets names that are not known before, and may be options", name)
			}
			for _, field := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
				if c.tellsToRun(name, field, args) {
					c.fail("%s gets options that are not known before", name)
				}
			}
		}
	}
}

// findsCode refuses words that may become options with code for an interpreter:
// names of files that the text has made.
func (c *calls) findsCode(name string, lang language, args []*syntax.Word) {
	if len(c.kept.files) == 0 {
		return
	}
	for _, w := range args {
		if _, plain := literalText(w); plain {
			continue
		}
		for _, value := range (expander{values: c.vars, wordReading: c.reading(), work: &c.left}).word(w) {
			if strings.HasPrefix(value, "-") && lang.code.MatchString(value) {
				c.fail("%s gets options that are not known before", name)
			}
		}
	}
}

// startsBy reports whether a word makes a program run something, or holds code for it.
func startsBy(name, word string) bool {
	if !strings.HasPrefix(word, "-") {
		return false
	}
	lang, interprets := languageOf(name)
	return interprets && lang.code.MatchString(word) || slices.ContainsFunc(running, func(r runningOption) bool {
		return r.how != runsAny && listed(r.programs, name) && r.argument.MatchString(word)
	})
}

// tellsToRun reports whether a word that comes from an expansion makes a program
// run something: by itself if it is an option, else with the words around it.
func (c *calls) tellsToRun(name, field string, args []*syntax.Word) bool {
	if strings.HasPrefix(field, "-") {
		return c.runsArguments(name, []string{name, field})
	}
	return slices.ContainsFunc(running, func(r runningOption) bool {
		return r.how == runsScript && strings.Contains(field, "=") && listed(r.programs, name) && r.argument.MatchString(field) &&
			(r.only == "" || slices.ContainsFunc(args, func(w *syntax.Word) bool { return w.Lit() == r.only }))
	})
}

// messages are the options that a plain text follows.
const messages = " -m -am -F --message --body --title --notes -b -t --author --date --format "

// spells reports whether a word begins with the output of a command that prints
// its own arguments.
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
							echoes, _ := wordReading{}.telling(expander{}.words(n.Args))
							_, interprets := languageOf(base(name))
							found = found || echoes && (!interprets || listed(" awk gawk mawk nawk sed gsed ", base(name)))
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
