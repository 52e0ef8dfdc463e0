package policy

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on reading. A command beyond them cannot be read.
const (
	maxScript  = 128 << 10 // bytes of a command
	maxNesting = 200       // brackets and keywords inside each other
	maxInner   = 12        // scripts inside scripts
	maxWork    = 228 << 10 // bytes of words that are read beyond those of the text, including inner scripts
	costOfText = 512       // the cost of each inner script beyond its bytes
	costOfCall = 320       // the cost of each command
)

// script lists what a text for the shell may run, as far as that can be known
// before it runs: a flat list of simple commands, from wherever in the text
// they come, and of the words that may name files.
type script struct {
	commands []command
	files    []shellFile
	dirs     []string // that commands may run in: the targets of cd and its kin
	links    []link   // that commands make
	homes    []string // other values of HOME
	lists    []string // names that a pipe hands on; nil if they are unknown
	texted   []string // here-documents, which may list files
	blind    bool     // a program that writes is given an unknown name
	// unread is why the text cannot be understood before it runs; empty if it
	// can.
	unread string

	made, ran []string // names of files that are written, and of those that run
	patches   []string // names of files that are applied as patches
	pieces    bool     // files with unknown names are written
	scripts   bool     // a script is run by its name
	hooks     bool     // git is told where to find the programs that it runs by itself
	obscured  bool     // a program is given an assembled value, and may take it for a file
	piped     int      // how many pipes lead here
	told      bool     // input from a pipe comes from the text itself
	formed    bool     // and in another form
	echoed    []string // the words that come by the pipe, unless they are formed
	inner     int      // how many scripts enclose this one
	left      int      // of maxWork
	learned   bool     // the effects of the text itself on variables are known
	*knowledge
}

// command is a simple command: a program and its arguments.
type command struct {
	words []string
	// open reports that the program may run its arguments, or read them as
	// code: every one of its words may begin a command.
	open bool
}

// shellFile is a word of a command that may name a file.
type shellFile struct {
	name   string
	writes bool // as far as the command is known
	opens  bool // certainly: an unknown word may be this file
	makes  bool // the command only creates it, and does not read it
}

// readScript reads a text for the shell. The effects of an inner script on
// variables count everywhere, so the text is read again until they are known.
func readScript(text string) *script {
	k, left := newKnowledge(), maxWork+len(text)
	for range learnings {
		s := &script{left: left, knowledge: k}
		s.guarded(text)
		if left = s.left; s.unread != "" || !k.later {
			s.settle()
			return s
		}
		k.later = false
	}
	s := &script{left: left, knowledge: k}
	s.fail("scripts that change variables again and again")
	return s
}

// guarded reads a text. If the parser panics, the text cannot be read.
func (s *script) guarded(text string) {
	defer func() {
		if p := recover(); p != nil {
			s.fail("the parser failed: %v", p)
		}
	}()
	s.read(text)
}

// fail records that the text cannot be read, and why.
func (s *script) fail(format string, args ...any) {
	if s.unread == "" {
		s.unread = fmt.Sprintf(format, args...)
	}
}

// spend reports whether there is work left for n bytes.
func (s *script) spend(n int) bool {
	if s.left -= n + 1; s.left < 0 {
		s.fail("too much to read")
	}
	return s.left >= 0
}

// The parser reads two things differently from bash: a backslash at the end of
// a comment, and a carriage return. Texts with the first are not read;
// [reserved] has the second.
var continuedComment = lazily("(?m)(^|[\\s;|&()<>`{}])#[^\n]*\\\\$")

// continuesComment reports whether a comment ends with a backslash. It consults
// the regular expression, which is slow, only where there may be one.
func continuesComment(text string) bool {
	return (strings.Contains(text, "\\\n") || strings.HasSuffix(text, "\\")) && continuedComment.MatchString(text)
}

// numberedElement is a redirection such as {a[x]}>file, which evaluates x.
var numberedElement = lazily(`\{[A-Za-z_][A-Za-z0-9_]*\[[^\]\n]*\]\}[<>]`)

// read adds the commands that a text may run.
func (s *script) read(text string) {
	switch {
	case len(text) > maxScript || s.inner > maxInner || !s.spend(len(text)+costOfText):
		s.fail("too much to read")
		return
	case reserved(text):
		s.fail("odd characters")
		return
	case tooDeep(text):
		s.fail("nested too deeply")
		return
	case continuesComment(text):
		s.fail("a comment that ends with a backslash")
		return
	case joinsDocument(text):
		s.fail("here-documents and lines that a backslash joins")
		return
	case strings.Contains(text, "]}") && numberedElement.MatchString(text):
		s.fail("the number of a redirection goes to an element")
		return
	}
	s.inner++
	defer func() { s.inner-- }()
	s.parse(text)
	// Bash joins lines first, which the parser does not do inside a token.
	if joined := joined(text); joined != text {
		s.parse(joined)
	}
}

func (s *script) parse(text string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.ambiguous(file, text)
	s.learn(file, text)
	s.walk(file)
}

// joinsDocument reports whether a text has several here-documents and also lines that a
// backslash joins. Bash joins lines in some of the documents and not in others, so
// neither reading of the whole text is right. With one document, one of the two is.
func joinsDocument(text string) bool {
	joined := joined(text)
	return joined != text && strings.Count(strings.ReplaceAll(joined, "<<<", ""), "<<") > 1
}

// joined removes the line breaks that a backslash hides.
func joined(text string) string {
	if !strings.Contains(text, "\\\n") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] != '\n' {
			b.WriteString(text[i-1 : i+1])
		}
	}
	return b.String()
}

// tooDeep reports whether brackets or keywords are nested so deeply that the
// parser would need too much time or too large a stack. It looks only at
// characters: quoted ones also count.
func tooDeep(text string) bool {
	depth, begins := 0, true
	for i := 0; i < len(text); i++ {
		change := 0
		switch c := text[i]; {
		case c == '(' || c == '{' || c == '[':
			change, begins = 1, true
		case c == ')' || c == '}' || c == ']':
			change, begins = -1, true
		case strings.IndexByte("\n;&|`", c) >= 0:
			begins = true
		case c >= 'a' && c <= 'z':
			from := i
			for i+1 < len(text) && isLetter(text[i+1]) {
				i++
			}
			word := text[from : i+1]
			if begins {
				change = keywords[word]
			}
			begins = begins && listed(" if then elif else while until do time coproc ", word)
		case c != ' ' && c != '\t':
			begins = false
		}
		if depth = max(depth+change, 0); depth > maxNesting {
			return true
		}
	}
	return false
}

var keywords = map[string]int{"if": 1, "while": 1, "until": 1, "for": 1, "case": 1, "select": 1, "time": 1, "coproc": 1, "fi": -1, "done": -1, "esac": -1}

// zshExpansion is plain text to bash, but to zsh a variable that is split into
// words or looked for in the file system.
var zshExpansion = lazily(`\$[=~^]+[A-Za-z_]`)

// zsh refuses words that hold such an expansion.
func (s *script) zsh(w *syntax.Word) {
	text := ""
	if evaluatesSubscript(w.Parts) {
		s.fail("a subscript in quotes, which zsh evaluates")
	}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text += lit.Value
		} else {
			text += " "
		}
	}
	if zshExpansion.MatchString(text) {
		s.fail("%s, which zsh expands", text)
	}
}

// evaluatesSubscript reports whether a variable is followed by text that zsh takes
// for a subscript, with a substitution that quotes hide.
func evaluatesSubscript(parts []syntax.WordPart) bool {
	open := false
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			if evaluatesSubscript(p.Parts) {
				return true
			}
		case *syntax.Lit:
			if before, ok := parts[max(i-1, 0)].(*syntax.ParamExp); ok && before.Short && strings.HasPrefix(p.Value, "[") {
				open = true
			}
			if open && hiddenSubstitution.MatchString(p.Value) {
				return true
			}
		case *syntax.SglQuoted:
			if open && strings.ContainsAny(p.Value, "$`") {
				return true
			}
		}
	}
	return false
}

var hiddenSubstitution = lazily("\\\\[$`]")

// walk visits a part of the syntax tree.
func (s *script) walk(node syntax.Node) {
	syntax.Walk(node, func(node syntax.Node) bool {
		if s.unread != "" {
			return false
		}
		switch n := node.(type) {
		case *syntax.Stmt:
			s.statement(n)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				s.pipe(n)
				return false
			}
		case *syntax.Assign:
			s.assign(n)
		case *syntax.DeclClause:
			s.declare(n)
		case *syntax.WordIter:
			s.iterates(n)
		case *syntax.ArrayElem:
			if n.Index != nil {
				s.arithmetic(n.Index)
			}
		case *syntax.ParamExp:
			s.param(n)
		case *syntax.Word:
			s.zsh(n)
		case *syntax.CmdSubst, *syntax.ProcSubst:
			s.searches(n)
		case *syntax.ExtGlob:
			// Its text is not parsed; and zsh may take it for a condition to
			// run.
			s.fail("the pattern (%s)", n.Pattern.Value)
		case *syntax.ArithmExp:
			s.arithmetic(n.X)
		case *syntax.ArithmCmd:
			s.arithmetic(n.X)
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				s.arithmetic(x)
			}
		case *syntax.CStyleLoop:
			s.arithmetic(n.Init, n.Cond, n.Post)
		case *syntax.UnaryTest:
			s.unaryTest(n)
		case *syntax.BinaryTest:
			s.binaryTest(n)
		}
		return true
	})
}

// pipe reads the two sides of a pipe. Input of a program that may run its input
// may be a command itself.
func (s *script) pipe(n *syntax.BinaryCmd) {
	from := len(s.commands)
	s.walk(n.X)
	to := len(s.commands)
	if !onlyPrints(n.Y, &s.left) {
		s.searches(n.X)
	}
	if !s.spend(8 * (to - from)) {
		return
	}
	told := s.told
	_, returns := s.reading().returns(n, &s.left)
	s.told = told || returns || slices.ContainsFunc(s.commands[from:to], func(c command) bool { return s.reading().echoes(c.words) })
	lists, formed, echoed := s.lists, s.formed, s.echoed
	s.formed = formed || s.told && slices.ContainsFunc(s.commands[from:to], func(c command) bool {
		return base(c.words[0]) != "echo" || !allStatic(c.words) || slices.Contains(c.words, "-e")
	})
	s.lists, s.echoed = listedBy(s.commands[from:to]), nil
	for _, c := range s.commands[from:to] {
		s.echoed = append(s.echoed, c.words[1:]...)
	}
	s.piped++
	s.walk(n.Y)
	s.piped--
	s.told, s.lists, s.formed, s.echoed = told, lists, formed, echoed
	if slices.ContainsFunc(s.commands[to:], func(c command) bool { return c.open }) {
		for i := range s.commands[from:to] {
			s.commands[from+i].open = true
		}
	}
}

// statement reads a command with its redirections.
func (s *script) statement(stmt *syntax.Stmt) {
	files := expander{values: s.vars, wordReading: s.reading(), obscure: s.obscure(stmt), work: &s.left}
	in := input{}
	for _, r := range stmt.Redirs {
		if r.Word != nil && strings.HasPrefix(r.Word.Lit(), "!") {
			s.fail("a redirection that bash and zsh read in two ways")
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			texts := expander{}.parts(r.Hdoc.Parts, true)
			in.add(texts...)
			s.texted = append(s.texted, texts...)
		case syntax.WordHdoc:
			in.add(expander{}.text(r.Word))
			for _, value := range files.word(r.Word) {
				s.files = append(s.files, shellFile{name: value})
			}
		case syntax.DplIn, syntax.DplOut:
			if r.Op == syntax.DplIn {
				in.other = true
			}
			fallthrough
		default:
			writes := r.Op != syntax.RdrIn && r.Op != syntax.DplIn
			for _, name := range files.word(r.Word) {
				s.files = append(s.files, shellFile{name: name, writes: writes, opens: true})
				if r.N != nil && r.Op == syntax.RdrIn { // it may be a directory, known by a number from now on
					s.enter(name)
				}
			}
			if writes && r.Op != syntax.DplOut {
				for _, name := range files.word(r.Word) {
					s.make(name)
				}
			} else if r.Op == syntax.RdrIn {
				in.file = expander{}.text(r.Word)
			}
		}
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	program, _ := literalText(call.Args[0])
	for _, assign := range call.Assigns {
		s.variable(assign, true)
		if assign.Value != nil && listed(writers, base(program)) {
			for _, value := range files.word(assign.Value) {
				s.mention(value, true)
			}
		}
	}
	path, below := s.belowDirectory(call.Args[0])
	if _, ok := literalText(call.Args[0]); !ok && !below && !plainBraces(call.Args[0]) {
		s.fail("the name of a command is not known before it runs")
		return
	}
	names := files.arguments(call.Args)
	if below {
		names = append([]string{path}, files.arguments(call.Args[1:])...)
	}
	s.name(names)
	if (s.told || len(in.texts) > 0) && listed(" xargs gxargs parallel ", base(program)) && (s.formed || joinsMark(names)) {
		writes := slices.ContainsFunc(names, func(w string) bool { return listed(writers, base(w)) })
		s.files = append(s.files, shellFile{name: string(anyText), writes: writes, opens: true})
	}
	s.spelled(call.Args)
	e := expander{single: s.oneWord(program)}
	words := e.words(call.Args)
	if below {
		words = append([]string{path}, e.words(call.Args[1:])...)
	}
	s.run(words, in)
}

// belowDirectory reads the path of a program below a directory that is unknown
// but certainly one word, such as $HOME/go/bin/goimports.
func (s *script) belowDirectory(w *syntax.Word) (path string, ok bool) {
	parts := w.Parts
	if quoted, ok := parts[0].(*syntax.DblQuoted); ok && len(quoted.Parts) > 0 {
		parts = slices.Concat(quoted.Parts, parts[1:])
	}
	switch p := parts[0].(type) {
	case *syntax.ParamExp:
		if p.Param == nil || !directoryVariable.MatchString(p.Param.Value) || p.Excl || p.Length || p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.Names != 0 {
			return "", false
		}
		if name := p.Param.Value; len(s.vars[name]) > 1 || len(s.vars[name]) == 1 && !listed(" HOME PWD ", name) {
			return "", false // the text assigns it
		}
	case *syntax.CmdSubst:
		if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 {
			return "", false
		}
		call, simple := p.Stmts[0].Cmd.(*syntax.CallExpr)
		if !simple || len(call.Args) == 0 || len(call.Assigns) > 0 || s.texts["PATH"] || !directoryCommand.MatchString(strings.Join(expander{}.words(call.Args), " ")) || slices.Contains(s.functions, call.Args[0].Lit()) {
			return "", false
		}
	default:
		return "", false
	}
	rest := expander{}.parts(parts[1:], false)
	if len(rest) != 1 || !static(rest[0]) || !strings.HasPrefix(rest[0], "/") || base(rest[0]) == "" || strings.Contains(rest[0], "..") {
		return "", false
	}
	return "~" + rest[0], true
}

var (
	// directoryVariable are variables of the environment that hold a directory.
	directoryVariable = lazily(`^(HOME|PWD|GOPATH|GOBIN|GOROOT|CARGO_HOME|VIRTUAL_ENV|JAVA_HOME|PNPM_HOME|XDG_\w+_HOME)$`)
	// directoryCommand are commands that print one.
	directoryCommand = lazily(`^(pwd|go env (GOPATH|GOBIN|GOROOT)|git rev-parse --show-toplevel|npm (bin|root|prefix)|brew --prefix)$`)
)

// obscure records that a program is given an unknown value that the text
// assembles. Programs that print their arguments do not count.
func (s *script) obscure(stmt *syntax.Stmt) func(variable string) {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	if name, _ := literalText(call.Args[0]); listed(" echo printf test [ : true set export return exit read cd pushd kill sleep shift local declare typeset ", name) {
		return nil
	}
	return func(variable string) { s.obscured = s.obscured || variable == "" || s.built[variable] }
}

// oneWord returns a function that reports which expansions outside quotes are
// harmless for a program; nil: none.
func (s *script) oneWord(program string) func(syntax.WordPart) bool {
	switch {
	case program == "test" || program == "[":
		return s.harmless
	case program == "ssh":
		return s.isFound
	case listed(evaluators, program):
		return s.isCount
	}
	return nil
}

// harmless reports whether an expansion cannot contain a question for test: it
// is a number, comes from the environment or has values without brackets.
func (s *script) harmless(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		return s.printsNumber(p)
	case *syntax.ParamExp:
		if p.Param == nil || p.Excl || p.Exp != nil || p.Repl != nil || p.Index != nil {
			return false
		}
		name := p.Param.Value
		return s.numeric(name) || !slices.ContainsFunc(s.vars[name], func(v string) bool { return !static(v) || strings.Contains(v, "[") }) && len(s.vars[name]) > 0
	}
	return false
}

// isCount reports whether an expansion is a number, or empty.
func (s *script) isCount(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		return s.printsNumber(p)
	case *syntax.ParamExp:
		return s.areNumbers([]syntax.WordPart{part}) || p.Param != nil && !p.Excl && p.Exp == nil && p.Repl == nil && p.Index == nil && s.numeric(p.Param.Value)
	}
	return false
}

// isFound reports whether an expansion is found by a command, or is a variable of
// the environment: a host, and not an option that the text has assembled.
func (s *script) isFound(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		kept, _ := s.reading().returns(p, &s.left)
		return !kept && !s.reading().printsItself(p, &s.left) && !(s.tellsFiles && readsFile(p))
	case *syntax.ParamExp:
		plain := p.Param != nil && !p.Excl && p.Exp == nil && p.Repl == nil && p.Index == nil && p.Slice == nil
		return plain && len(s.vars[p.Param.Value]) == 0 && !shellFilled.MatchString(p.Param.Value) && !strings.ContainsAny(p.Param.Value[:1], "0123456789@*")
	}
	return false
}

// plainBraces reports whether only braces are expanded in a word.
func plainBraces(w *syntax.Word) bool {
	values := expander{}.word(w)
	return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !static(v) })
}

// joinsMark reports whether xargs inserts its input into a longer word.
func joinsMark(words []string) bool {
	mark := replaced(words)
	return mark != "" && slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, mark) && w != mark && !strings.HasPrefix(w, "-") })
}

// arguments returns the words of a command that may name files. The word after
// an option such as -m is plain text.
func (e expander) arguments(args []*syntax.Word) []string {
	var words []string
	for i, w := range args {
		one := e
		if i > 0 {
			if before, ok := literalText(args[i-1]); ok && listed(messages, before) {
				one.obscure = nil
			}
		}
		words = append(words, one.word(w)...)
	}
	return words
}

// input describes what a command reads from.
type input struct {
	texts []string // here-documents
	file  string
	other bool
}

func (in *input) add(texts ...string) { in.texts = append(in.texts, texts...) }

// base returns the last name of a path, without the decorations that systems
// and shells allow around the name of a program.
func base(word string) string {
	name := word[strings.LastIndexByte(word, '/')+1:]
	if sameInAnyCase {
		name = strings.ToLower(name)
	}
	name = strings.TrimSuffix(name, ".exe")
	return strings.TrimPrefix(strings.TrimPrefix(name, "="), "zf_") // both for zsh
}
