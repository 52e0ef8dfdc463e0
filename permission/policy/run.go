package policy

import (
	"slices"
	"strings"
)

// calls reads simple commands: what a program does with its words, and what it
// starts in turn. It knows nothing of syntax; a text goes back to the script.
type calls struct {
	findings
	*knowledge
	piping
	nested func(text string) // reads a script inside a command
}

// piping describes what the pipes before a command hand to it.
type piping struct {
	piped  int      // how many pipes lead here
	lists  []string // names that a pipe hands on; nil if they are unknown
	told   bool     // input from a pipe comes from the text itself
	formed bool     // and in another form
	echoed []string // the words that come by the pipe, unless they are formed
}

// run reads a simple command: the program, and everything it starts.
func (c *calls) run(words []string, in input) {
	if c.unread != "" || len(words) == 0 || !c.spend(costOfCall+len(strings.Join(words, " "))) {
		return
	}
	name := base(words[0])
	if namesDescriptor(words[0]) {
		c.fail("%s is whatever a process has opened", words[0])
		return
	}
	open := !isPlain(name) && !listed(evaluators, name)
	if c.runsArguments(name, words) {
		open = true
	}
	if name == "xargs" || name == "gxargs" {
		words = append(slices.Clone(words), string(anyWords))
	}
	c.commands = append(c.commands, command{words, open})
	c.ran = append(c.ran, name)
	if sub, ok := strings.CutPrefix(name, "git-"); ok { // a command of git as a program
		c.commands = append(c.commands, command{append([]string{"git", sub}, words[1:]...), open})
	}
	if strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/usr/") && !strings.HasPrefix(words[0], "/bin/") {
		c.scripts = true
	}
	c.loads(name)
	c.writes(name, words, open)
	c.dispatch(words, in)
	if !open {
		return
	}
	for _, text := range in.texts {
		c.commandLine(text)
	}
	if _, ok := languageOf(name); ok {
		return // its arguments are read, and those of its script are data
	}
	_, starts := starters[name]
	plain := isPlain(name)
	for i, word := range words[1:] {
		if c.unread != "" || !c.spend(8) {
			return
		}
		if special(base(word)) && (starts || word != ".") { // a directory
			c.maybe(starts || runsCodeOf(words[i+1:]), func() { c.dispatch(words[i+1:], in) })
		}
		if strings.ContainsAny(word, " \t\n;|&<>$`'\"\\") {
			c.maybe(!starts && !plain && i > 0 && commandOption.MatchString(words[i]), func() { c.dispatchText(word) })
		}
		if m := joinedCommand.FindStringSubmatch(word); m != nil && !starts && !plain {
			c.maybe(true, func() { c.dispatchText(m[1]) })
		}
	}
}

// Options by which programs outside the tables take a command, in the next word
// or joined.
var (
	commandOption = lazily(`^(-[ecx]|--?(exec|execute|command|cmd|run|eval|shell|preview|pre|post|hook|init-hook|on-[a-z]+|exec-[a-z]+|[a-z]+-(cmd|command|hook|exec)))$`)
	joinedCommand = lazily(`(?s)^--?(?:exec|execute|command|cmd|run|eval|shell|preview|pre|post|hook|init-hook|on-[a-z]+|exec-[a-z]+|[a-z]+-(?:cmd|command|hook|exec))=(.*[ \t\n;|&<>$` + "`" + `'"\\*?\[].*)$`)
)

// runsCodeOf reports whether words are a shell, or an interpreter, with code.
func runsCodeOf(words []string) bool {
	name := base(words[0])
	if listed(shells, name) || listed(otherShells, name) {
		return slices.ContainsFunc(words[1:], func(w string) bool { return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "c") })
	}
	lang, ok := languageOf(name)
	return ok && slices.ContainsFunc(words[1:], lang.code.MatchString)
}

// namesDescriptor reports whether a program is named as a file that a process has
// opened. The name does not reveal which program that is.
func namesDescriptor(word string) bool {
	if descriptor.MatchString(base(word)) {
		return true
	}
	path := cleaned(word)
	return strings.HasPrefix(word, "/") && (strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/"))
}

// descriptor are the names of files in the directories that show the open files
// of a process, wherever these are.
var descriptor = lazily(`^([0-9]+|stdin|stdout|stderr|exe)$`)

func (c *calls) dispatchText(text string) {
	if static(text) && c.spend(len(text)) {
		c.nested(text)
	}
}

// dispatch reads a command by the meaning of its first word.
func (c *calls) dispatch(words []string, in input) {
	name := base(words[0])
	if !c.spend(len(words) * 8) {
		return
	}
	switch st, starts := starters[name]; {
	case listed(shells, name):
		c.shell(words, in)
	case listed(otherShells, name):
		c.fail("%s has a language of its own", name)
	case listed(evaluators, name):
		c.evaluate(name, words)
	case starts:
		c.start(st, words, in)
	default:
		if lang, ok := languageOf(name); ok {
			c.ran = append(c.ran, languageSources...)
			c.interpret(lang, words, in)
		} else if loader.MatchString(name) {
			c.start(starter{}, words, in)
		} else {
			c.tool(name, words, in)
		}
	}
}

// loader is the program that loads others into memory.
var loader = lazily(`^ld(-linux[-\w]*|-musl[-\w]*)?\.so(\.\d+)?$`)

// languageSources are the files that interpreters load merely because they
// exist.
var languageSources = []string{"*.py", "*.pth", "*.js", "*.cjs", "*.mjs", "*.pm", "*.pl", "*.rb"}

// tool reads the special cases of a few programs.
func (c *calls) tool(name string, words []string, in input) {
	switch name {
	case "find", "fd", "fdfind":
		c.executes(name, words, in)
	case "go":
		for i, word := range words {
			if word == "run" || word == "test" || word == "generate" {
				c.ran = append(c.ran, "*.go")
				for _, file := range words[i+1:] {
					c.ran = append(c.ran, base(file))
				}
			}
		}
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "ld", "as", "javac", "swiftc", "kotlinc":
		c.compile(words)
	case "run-parts":
		c.fail("run-parts runs all that is in a directory")
	case "npx", "pnpx":
		c.scriptOptions(words)
	case "cmake", "make", "gmake", "ninja", "npm", "pnpm", "yarn", "just", "task", "rake", "docker", "podman":
		c.ran = append(c.ran, "Makefile", "makefile", "GNUmakefile", "package.json", "build.ninja", "justfile", "Taskfile.yml", "Rakefile", "CMakeLists.txt", ".npmrc", "*.c", "*.cc", "*.cpp", "*.mk", "*.js", "*.go")
		c.scripts = true
		if at := slices.Index(words, "--"); name == "cmake" && at > 0 && slices.Contains(words[:at], "--build") {
			c.command(append([]string{"make"}, words[at+1:]...), in) // its arguments, or those of a similar program
		}
		if listed(" npm pnpm yarn ", name) && slices.ContainsFunc(words, func(w string) bool { return w == "exec" || w == "x" || w == "dlx" }) {
			c.scriptOptions(words)
		}
		for i, word := range words {
			m := makefile.FindStringSubmatch(word)
			if m != nil && m[1] != "" {
				c.runFile(m[1])
			} else if m != nil && i+1 < len(words) {
				c.runFile(words[i+1])
			}
		}
	case "patch":
		c.patch(words, in, c.piped > 0 && c.told)
	case "git":
		c.git(words)
		if slices.Contains(words, "apply") || slices.Contains(words, "am") {
			c.patch(words, in, c.piped > 0 && c.told)
		}
	default:
		c.console(name, words, in)
	}
}

// executes reads the commands that find and similar programs start with the
// names they find.
func (c *calls) executes(name string, words []string, in input) {
	for i, word := range words[1:] {
		m := execution(name).FindStringSubmatch(word)
		if m == nil {
			continue
		}
		if c.unread != "" || !c.spend(8*(len(words)-i)) {
			return
		}
		inner := slices.Clone(words[i+2:])
		if len(m) > 1 && m[1] != "" {
			inner = append([]string{m[1]}, inner...)
		}
		for n, w := range inner {
			if strings.Contains(w, "{") && (n > 0 && w != "{}" || n == 0) { // a name inside of code
				inner[n] = foundName.compile().ReplaceAllString(w, string(anyText))
			}
		}
		if name != "find" { // without a placeholder, names come at the end
			inner = append(inner, "{}")
			if slices.ContainsFunc(c.kept.files, func(f string) bool { return startsBy(base(inner[0]), f) }) {
				c.fail("%s gets options that are not known before", inner[0])
			}
		}
		c.command(inner, in)
	}
}

// foundName is the placeholder for a found name; fd has several.
var foundName = lazily(`\{(/|//|\.|/\.)?\}`)

// compile reads the sources of a compiler: a program built from a source that
// the text has written counts as written itself.
func (c *calls) compile(words []string) {
	for _, word := range words[1:] {
		switch {
		case word == "-" || strings.HasPrefix(word, "-B"):
			c.fail("%s compiles what it reads, or by what it is told", words[0])
		case strings.HasPrefix(word, "@"):
			c.runFile(word[1:])
		case !strings.HasPrefix(word, "-"):
			c.ran = append(c.ran, base(word))
		}
	}
}

// execution returns the option by which find, or a similar program, starts a
// program.
func execution(name string) *expression {
	if name == "find" {
		return findExecution
	}
	return fdExecution
}

var (
	findExecution = lazily(`^-(?:exec|ok)`)
	fdExecution   = lazily(`^(?:-[a-zA-Z0-9]*[xX]=?|--exec(?:-batch)?(?:=|$))(.*)$`)
)

// makefile finds the option of make that names its file, however it is abbreviated.
var makefile = lazily(`(?s)^(?:-[A-Za-z0-9]*f|--fi(?:le?)?(?:=|$)|--ma(?:k(?:e(?:f(?:i(?:le?)?)?)?)?)?(?:=|$))(.*)$`)

// start reads the command that a starter starts.
func (c *calls) start(st starter, words []string, in input) {
	name := base(words[0])
	if name == "command" && len(words) > 1 && strings.Trim(words[1], "-pvV") == "" && strings.ContainsAny(words[1], "vV") {
		return // it only shows where a command is
	}
	if st.script {
		c.scriptOptions(words)
	}
	if options, _, _ := getopt(name, words[1:]); name == "exec" && hasLetter(options, "a") {
		for _, o := range options {
			c.given([]string{o.value}) // the name of a script, for itself
		}
	}
	own := st.own
	loose := false // an option may have taken the next word, or not
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case strings.ContainsFunc(word, isSpread):
			c.fail("%s starts what is not known before", name)
			return
		case name == "env" && splitString.MatchString(word) && (!static(word) || i+1 < len(words) && !static(words[i+1]) || strings.ContainsAny(strings.Join(words[i:], " "), `\$'"`)):
			c.fail("env splits a text in its own way")
			return
		case name == "env" && splitString.MatchString(word):
			c.commandLine(splitString.compile().ReplaceAllString(word, ""))
		case strings.HasPrefix(word, "--") && len(word) > 2:
			loose = loose || !strings.Contains(word, "=")
		case len(word) > 1 && word[0] == '-':
			if takesNext(st.values, word) {
				i++
				if i < len(words) && strings.ContainsFunc(words[i], isSpread) {
					c.fail("%s starts what is not known before", name)
				}
			}
		case named.MatchString(word) && strings.Contains(word, "="):
			variable, value, _ := strings.Cut(word, "=")
			c.set(variable, value)
		case own > 0:
			own--
			loose = loose || !static(word)
		default:
			if loose && !allStatic(words[i:min(i+3, len(words))]) {
				c.fail("%s starts what is not known before", name)
			}
			c.started(st, words, i, in)
			return
		}
	}
	if st.shell && !slices.ContainsFunc(words[1:], func(w string) bool { return w == "-l" || w == "-v" || w == "-c" || w == "-V" || w == "--version" }) {
		c.stdin(name, in)
	}
}

// takesNext reports whether a cluster of options ends with one that takes the
// next word as its value.
func takesNext(values, word string) bool {
	i := strings.IndexAny(word[1:], values)
	return values != "" && i >= 0 && i == len(word)-2
}

// scriptOptions reads the scripts that options such as -c of su take.
func (c *calls) scriptOptions(words []string) {
	for i, word := range words[1:] {
		if scriptOption.MatchString(word) && i+2 < len(words) {
			c.certain(words[i+2])
		} else if m := joinedScript.FindStringSubmatch(word); m != nil {
			c.certain(m[1])
		} else if !static(word) && strings.HasPrefix(word, "-") {
			c.fail("an option of %s that is not known before", words[0])
		}
	}
}

// longScript are the long names of such options, and their abbreviations: not
// every word with that beginning, since --config and --check are options of
// programs that npx runs.
const longScript = `--c(?:o|om|omm|omma|omman|ommand|al|all)?|--ses[a-z-]*`

var (
	scriptOption = lazily(`^(-[a-zA-Z]*c|` + longScript + `)$`)
	joinedScript = lazily(`(?s)^(?:-[qefa]*c|(?:` + longScript + `)=)(.+)$`)
)

// isSpread reports whether something unknown may be more than one word.
func isSpread(r rune) bool { return isUnknown(r) && r != anyText }

var splitString = lazily(`^(-[a-zA-Z0]*S|--s[a-z-]*=?)`)

// certain reads a text that is certainly a script.
func (c *calls) certain(text string) {
	if !static(text) {
		c.fail("a script that is not known before it runs")
		return
	}
	c.nested(text)
}

// started reads the command at position i of a starter's words.
func (c *calls) started(st starter, words []string, i int, in input) {
	inner := words[i:]
	if !static(inner[0]) {
		c.fail("%s starts what is not known before", base(words[0]))
		return
	}
	if name := base(inner[0]); base(words[0]) == "xargs" && (c.told && c.mayRun(name) || slices.ContainsFunc(c.kept.returned(), func(w string) bool { return startsBy(name, w) })) {
		c.fail("%s gets options that are not known before", name)
	}
	if mark := replaced(words[:i]); mark != "" {
		inner = slices.Clone(inner)
		for n := range inner {
			inner[n] = strings.ReplaceAll(inner[n], mark, string(anyText))
		}
	}
	if strings.Contains(inner[0], "{}") {
		c.fail("%s starts what it reads", base(words[0]))
	}
	if st.shell {
		text := strings.Join(inner, " ")
		if strings.ContainsAny(text, " \t\n;|&<>$`'\"\\*?[") {
			c.maybe(listed(shellStarters, base(words[0])), func() { c.dispatchText(text) })
		}
		if !static(text) && !strings.Contains(inner[0], "/") && base(words[0]) != "sudo" && base(words[0]) != "doas" {
			c.fail("a script that is not known before it runs")
		}
	}
	c.command(inner, in)
}

// mayRun reports whether input from a pipe may make a program run something.
func (p *piping) mayRun(name string) bool {
	return slices.ContainsFunc(running, func(r runningOption) bool {
		return r.how != runsAny && listed(r.programs, name) && (p.formed || slices.ContainsFunc(p.echoed, func(w string) bool {
			return !plainLine.MatchString(w) || slices.ContainsFunc(strings.Fields(w), r.argument.MatchString)
		}))
	})
}

// shellStarters hand all their words to a shell, as one text.
const shellStarters = " watch ssh parallel hyperfine emulate "

// replaced returns the placeholder that xargs replaces in the command.
func replaced(words []string) string {
	if name := base(words[0]); name != "xargs" && name != "gxargs" {
		return ""
	}
	for i, w := range words[1:] {
		switch {
		case w == "-I" || w == "-J":
			if i+2 < len(words) {
				return words[i+2]
			}
		case strings.HasPrefix(w, "-I"), strings.HasPrefix(w, "-J"):
			return w[2:]
		case replaceOption.MatchString(w):
			if _, mark, ok := strings.Cut(w, "="); ok {
				return mark
			}
			return "{}"
		case w == "-i":
			return "{}"
		case strings.HasPrefix(w, "-i"):
			return w[2:]
		}
	}
	return ""
}

var replaceOption = lazily(`^--` + abbreviated("replace", 1) + `(=|$)`)

// command reads a command that another one starts.
func (c *calls) command(words []string, in input) {
	if len(words) == 0 {
		return
	}
	if !static(words[0]) || strings.Contains(words[0], "{}") {
		c.fail("a command that is not known before it runs")
		return
	}
	if c.inner++; c.inner > maxInner {
		c.fail("too many commands that start others")
		return
	}
	c.run(words, in)
	c.inner--
}

// shell reads the arguments of a shell.
func (c *calls) shell(words []string, in input) {
	code, stdin, talks := false, false, false
	i := 1
options:
	for ; i < len(words); i++ {
		switch w := words[i]; {
		case !static(w):
			c.fail("a shell whose arguments are not known before it runs")
			return
		case w == "--version" || w == "--help":
			return
		case w == "--" || w == "-":
			i++
			break options
		case w == "--rcfile" || w == "--init-file":
			if i++; i < len(words) {
				c.runFile(words[i])
			}
		case strings.HasPrefix(w, "--"):
		case len(w) > 1 && (w[0] == '-' || w[0] == '+'):
			code = code || w[0] == '-' && strings.Contains(w, "c")
			stdin = stdin || strings.Contains(w, "s")
			talks = talks || strings.ContainsAny(w, "iH")
			for range strings.Count(w, "o") + strings.Count(w, "O") { // each takes a word
				if i++; i < len(words) {
					c.option(words[i])
				}
			}
		default:
			break options
		}
	}
	c.ran = append(c.ran, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".inputrc")
	switch {
	case code && i < len(words):
		c.given(words[i+1:])
		c.certain(words[i])
	case code:
	case stdin && i < len(words):
		c.given(words[i:])
		c.stdin(words[0], in)
	case i < len(words) && !stdin && !isStdin(words[i]):
		c.runFile(words[i])
	case talks: // it expands words from its history
		c.fail("%s is told what to do by what it reads", words[0])
	default:
		c.stdin(words[0], in)
	}
}

// given records the arguments of a script.
func (c *calls) given(words []string) {
	if len(words) == 0 {
		return
	}
	l := learner{knowledge: c.knowledge, bounds: &c.bounds}
	before := c.size()
	l.arguments(words)
	c.later = c.later || c.size() > before
}

func isStdin(path string) bool {
	return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0"
}

// stdin reads the input of a shell: a here-document, or else something unknown.
func (c *calls) stdin(name string, in input) {
	if in.other || len(in.texts) == 0 && in.file == "" {
		c.fail("%s runs what it reads", name)
		return
	}
	if in.file != "" {
		c.runFile(in.file)
	}
	for _, text := range in.texts {
		c.certain(text)
	}
}

// interpret reads the arguments of an interpreter.
func (c *calls) interpret(lang language, words []string, in input) {
	name := base(words[0])
	check := func(code string) {
		if !c.spend(4*len(code) + costOfText) {
			return
		}
		if !static(code) || lang.starts == nil || lang.starts(code) {
			c.fail("code for %s that may start anything", name)
		}
		if awkWrites.MatchString(code) && listed(languages[0].names, name) {
			c.pieces, c.blind = true, true
		}
	}
	have := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		m := lang.code.FindStringSubmatch(w)
		switch {
		case len(words) == 2 && (w == "--version" || w == "--help" || w == "-V" || w == "-v"):
			return
		case m != nil && m[1] != "":
			check(m[1])
			have = true
		case m != nil:
			if lang.starts == nil && !bareOption.MatchString(w) {
				check(w) // code is joined to the option
			}
			if i++; i < len(words) {
				check(words[i])
			}
			have = true
		case len(w) > 1 && w[0] == '-' && w != "--":
			last := w[len(w)-1]
			switch {
			case lang.options != nil && !lang.options.MatchString(w):
				c.fail("an option of %s that may start anything", name)
			case strings.IndexByte(lang.file, last) >= 0 && w[1] != '-':
				have = true
				if i++; i < len(words) {
					c.runFile(words[i])
				}
			case w == "-m" && strings.Contains(lang.values, "m"):
				if i+1 < len(words) && (!static(words[i+1]) || codeModule.MatchString(words[i+1])) {
					c.fail("a module that runs code")
				}
				return
			case len(w) == 2 && strings.IndexByte(lang.values, last) >= 0:
				i++
			}
		case !have && lang.first && w != "--":
			check(w)
			have = true
		case !have && isStdin(w):
			i = len(words) // the rest are arguments of what it reads
		case !have && w != "--":
			c.runFile(w)
			return
		case name == "perl" && (!static(w) || strings.Contains(w, "|")):
			c.fail("perl opens names that end with a bar as commands")
		}
	}
	if have || slices.Contains(words, "--test") && listed(" node nodejs ", name) {
		return
	}
	if in.other || len(in.texts) == 0 {
		c.stdin(name, in)
		return
	}
	for _, text := range in.texts {
		check(text)
	}
}

// bareOption is an option, or the name of a file, that holds no code.
var bareOption = lazily(`^[\w.-]+=?$`)

// codeModule are modules of Python that run code they are given.
var codeModule = lazily(`^(timeit|pdb|bdb|c?[pP]rofile|trace|runpy|code|doctest|asyncio|idlelib.*)$`)
