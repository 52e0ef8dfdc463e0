package policy

import (
	"regexp"
	"slices"
	"strings"
)

// run reads a simple command: what it is, and what it starts.
func (s *script) run(words []string, in input) {
	if s.unread != "" || len(words) == 0 || !s.spend(len(strings.Join(words, " "))) {
		return
	}
	name := base(words[0])
	open := !isPlain(name) && !listed(evaluators, name)
	for _, r := range running {
		if !listed(r.programs, name) {
			continue
		}
		for _, word := range words[1:] {
			if r.argument.MatchString(word) {
				open = true
				if r.whole && slices.ContainsFunc(words[1:], func(w string) bool { return !static(w) }) {
					s.fail("%s runs what is not known before", name)
				}
			}
		}
	}
	if name == "xargs" || name == "gxargs" {
		words = append(slices.Clone(words), string(anyWords))
	}
	s.commands = append(s.commands, command{words, open})
	s.ran = append(s.ran, name)
	s.writes(name, words)
	s.dispatch(words, in)
	if !open {
		return
	}
	for _, text := range in.texts {
		s.commandLine(text)
	}
	if _, ok := languageOf(name); ok {
		return // its arguments are read, and those of its script are data
	}
	_, starts := starters[name]
	for i, word := range words[1:] {
		if s.unread != "" || !s.spend(8) {
			return
		}
		if special(base(word)) {
			s.maybe(starts, func() { s.dispatch(words[i+1:], in) })
		}
		if strings.ContainsAny(word, " \t\n;|&<>$`'\"\\") {
			s.maybe(false, func() { s.dispatchText(word) })
		}
	}
}

// maybe reads what a program may run. Unless it is sure that it does, what
// cannot be read there does not count.
func (s *script) maybe(sure bool, read func()) {
	before, files, dirs := s.unread, len(s.files), len(s.dirs)
	if read(); !sure && s.left >= 0 {
		s.unread, s.files, s.dirs = before, s.files[:files], s.dirs[:dirs]
	}
}

func (s *script) dispatchText(text string) {
	if static(text) && s.spend(len(text)) {
		s.read(text)
	}
}

// dispatch reads a command by what its first word means.
func (s *script) dispatch(words []string, in input) {
	name := base(words[0])
	if !s.spend(len(words) * 8) {
		return
	}
	switch st, starts := starters[name]; {
	case listed(shells, name):
		s.shell(words, in)
	case listed(otherShells, name):
		s.fail("%s has a language of its own", name)
	case listed(evaluators, name):
		s.evaluate(name, words)
	case starts:
		s.start(st, words, in)
	default:
		if lang, ok := languageOf(name); ok {
			s.interpret(lang, words, in)
		} else {
			s.tool(name, words, in)
		}
	}
}

// tool reads what is special about a few programs.
func (s *script) tool(name string, words []string, in input) {
	switch name {
	case "find", "fd":
		for i, word := range words[1:] {
			if execution.MatchString(word) {
				s.command(words[i+2:], in)
			}
		}
	case "go":
		for i, word := range words {
			if word == "run" {
				for _, file := range words[i+1:] {
					s.ran = append(s.ran, base(file))
				}
			}
		}
	case "make", "gmake", "ninja", "npm", "pnpm", "yarn", "just", "task", "rake", "cmake", "docker", "podman":
		s.ran = append(s.ran, "Makefile", "makefile", "GNUmakefile", "package.json", "build.ninja", "justfile", "Taskfile.yml", "Rakefile", "CMakeLists.txt", ".npmrc")
		for i, word := range words {
			m := makefile.FindStringSubmatch(word)
			if m != nil && m[1] != "" {
				s.runFile(m[1])
			} else if m != nil && i+1 < len(words) {
				s.runFile(words[i+1])
			}
		}
	case "git":
		s.ran = append(s.ran, ".gitconfig", "config", "pre-commit", "post-checkout", "post-commit", "pre-push", "commit-msg", ".gitattributes")
	}
}

var execution = regexp.MustCompile(`^(-exec|-ok|-x$|-X$|--exec)`)

var makefile = regexp.MustCompile(`^(?:-[a-zA-Z]*f|--file=?|--makefile=?)(.*)$`)

// start reads what a starter starts.
func (s *script) start(st starter, words []string, in input) {
	name := base(words[0])
	if name == "command" && len(words) > 1 && strings.Trim(words[1], "-pvV") == "" && strings.ContainsAny(words[1], "vV") {
		return // it says where a command is
	}
	own := st.own
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case strings.ContainsFunc(word, isSpread):
			s.fail("%s starts what is not known before", name)
			return
		case name == "env" && splitString.MatchString(word) && (!static(word) || i+1 < len(words) && !static(words[i+1]) || strings.ContainsAny(strings.Join(words[i:], " "), `\$'"`)):
			s.fail("env splits a text in its own way")
			return
		case name == "env" && splitString.MatchString(word):
			s.commandLine(splitString.ReplaceAllString(word, ""))
		case len(word) > 1 && word[0] == '-':
			if strings.ContainsRune(st.values, rune(word[len(word)-1])) && word[1] != '-' {
				i++
				if i < len(words) && strings.ContainsFunc(words[i], isSpread) {
					s.fail("%s starts what is not known before", name)
				}
				s.scriptOption(st, word, words[i:])
			}
		case named.MatchString(word) && strings.Contains(word, "="):
		case own > 0:
			own--
		default:
			s.started(st, words, i, in)
			return
		}
	}
	if st.shell && !slices.ContainsFunc(words[1:], func(w string) bool { return w == "-l" || w == "-v" || w == "-c" || w == "-V" || w == "--version" }) {
		s.stdin(name, in)
	}
}

// isSpread reports whether something unknown may be more than one word.
func isSpread(r rune) bool { return isUnknown(r) && r != anyText }

var splitString = regexp.MustCompile(`^(-[a-zA-Z0]*S|--s[a-z-]*=?)`)

// scriptOption reads the script that an option such as -c of su takes.
func (s *script) scriptOption(st starter, option string, rest []string) {
	if !st.shell || !strings.HasSuffix(option, "c") || len(rest) == 0 {
		return
	}
	s.certain(rest[0])
}

// certain reads a text that is certainly a script.
func (s *script) certain(text string) {
	if !static(text) {
		s.fail("a script that is not known before it runs")
		return
	}
	s.read(text)
}

// started reads the command at position i of a starter's words.
func (s *script) started(st starter, words []string, i int, in input) {
	inner := words[i:]
	if !static(inner[0]) {
		s.fail("%s starts what is not known before", base(words[0]))
		return
	}
	for _, w := range words[1:i] { // what xargs puts in place of -I
		if mark := strings.TrimPrefix(w, "-I"); mark != "" && base(words[0]) == "xargs" && !strings.HasPrefix(mark, "-") && strings.Contains(inner[0], mark) {
			s.fail("xargs starts what it reads")
		}
	}
	if strings.Contains(inner[0], "{}") {
		s.fail("%s starts what it reads", base(words[0]))
	}
	if st.shell {
		text := strings.Join(inner, " ")
		if strings.ContainsAny(text, " \t\n;|&<>$`'\"\\") {
			s.maybe(false, func() { s.dispatchText(text) })
		}
		if !static(text) && !strings.Contains(inner[0], "/") && base(words[0]) != "sudo" && base(words[0]) != "doas" {
			s.fail("a script that is not known before it runs")
		}
	}
	s.command(inner, in)
}

// command reads a command that another one starts.
func (s *script) command(words []string, in input) {
	if len(words) == 0 {
		return
	}
	if !static(words[0]) || strings.Contains(words[0], "{}") {
		s.fail("a command that is not known before it runs")
		return
	}
	if s.inner++; s.inner > maxInner {
		s.fail("too many commands that start others")
		return
	}
	s.ran = append(s.ran, base(words[0]))
	s.dispatch(words, in)
	s.inner--
}

// shell reads the arguments of a shell.
func (s *script) shell(words []string, in input) {
	code, stdin := false, false
	i := 1
options:
	for ; i < len(words); i++ {
		switch w := words[i]; {
		case !static(w):
			s.fail("a shell whose arguments are not known before it runs")
			return
		case w == "--version" || w == "--help":
			return
		case w == "--" || w == "-":
			i++
			break options
		case w == "--rcfile" || w == "--init-file":
			if i++; i < len(words) {
				s.runFile(words[i])
			}
		case strings.HasPrefix(w, "--"):
		case len(w) > 1 && (w[0] == '-' || w[0] == '+'):
			code = code || w[0] == '-' && strings.Contains(w, "c")
			stdin = stdin || strings.Contains(w, "s")
			if strings.ContainsAny(w[len(w)-1:], "oO") {
				i++
			}
		default:
			break options
		}
	}
	switch {
	case code && i < len(words):
		s.certain(words[i])
	case code:
	case i < len(words) && !stdin && !isStdin(words[i]):
		s.runFile(words[i])
	default:
		s.stdin(words[0], in)
	}
}

func isStdin(path string) bool {
	return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0"
}

// stdin reads what a shell reads: a here-document, or else nobody knows what.
func (s *script) stdin(name string, in input) {
	if in.other || len(in.texts) == 0 && in.file == "" {
		s.fail("%s runs what it reads", name)
		return
	}
	if in.file != "" {
		s.runFile(in.file)
	}
	for _, text := range in.texts {
		s.certain(text)
	}
}

// interpret reads the arguments of an interpreter.
func (s *script) interpret(lang language, words []string, in input) {
	name := base(words[0])
	check := func(code string) {
		if !static(code) || lang.starts == nil || lang.starts(code) {
			s.fail("code for %s that may start anything", name)
		}
	}
	have := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		m := lang.code.FindStringSubmatch(w)
		switch {
		case w == "--version" || w == "--help" || w == "-V" || w == "-v" && name != "awk":
			return
		case m != nil && m[1] != "":
			check(m[1])
			have = true
		case m != nil:
			if i++; i < len(words) {
				check(words[i])
			}
			have = true
		case len(w) > 1 && w[0] == '-' && w != "--":
			last := w[len(w)-1]
			switch {
			case strings.HasPrefix(w, "-M") && !module.MatchString(w):
				s.fail("a module that may start anything")
			case strings.IndexByte(lang.file, last) >= 0 && w[1] != '-':
				have = true
				if i++; i < len(words) {
					s.runFile(words[i])
				}
			case w == "-m" && strings.Contains(lang.values, "m"):
				if i+1 < len(words) && (!static(words[i+1]) || codeModule.MatchString(words[i+1])) {
					s.fail("a module that runs code")
				}
				return
			case len(w) == 2 && strings.IndexByte(lang.values, last) >= 0:
				i++
			}
		case !have && lang.first && w != "--":
			check(w)
			have = true
		case !have && w != "--" && !isStdin(w):
			s.runFile(w)
			return
		case name == "perl" && (!static(w) || strings.Contains(w, "|")):
			s.fail("perl opens names that end with a bar as commands")
		}
	}
	if have {
		return
	}
	if in.other || len(in.texts) == 0 {
		s.stdin(name, in)
		return
	}
	for _, text := range in.texts {
		check(text)
	}
}

// codeModule are modules of Python that run code they are given.
var codeModule = regexp.MustCompile(`^(timeit|pdb|bdb|c?[pP]rofile|trace|runpy|code|doctest|asyncio|idlelib.*)$`)

var module = regexp.MustCompile(`^-M[-A-Za-z0-9_:]*$`)
