package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script reads a text for the shell: its syntax, and by calls the commands in it.
type script struct {
	calls
	learned bool // the effects of the text itself on variables are known
}

// readScript reads a text for the shell. The effects of an inner script on
// variables count everywhere, so the text is read again until they are known.
func readScript(text string) *script {
	k, left := newKnowledge(), maxWork+workOfByte*len(text)
	for range learnings {
		s := newScript(k, left)
		s.guarded(text)
		if left = s.left; s.unread != "" || !k.later {
			s.settle()
			return s
		}
		k.later = false
	}
	s := newScript(k, left)
	s.fail("scripts that change variables again and again")
	return s
}

func newScript(k *knowledge, left int) *script {
	s := &script{calls: calls{findings: findings{bounds: bounds{left: left}}, knowledge: k}}
	s.nested = s.read
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

// zshReads returns why zsh reads a word differently; empty if it does not.
func zshReads(w *syntax.Word) (why string) {
	if evaluatesSubscript(w.Parts) {
		return "a subscript in quotes, which zsh evaluates"
	}
	text := ""
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text += lit.Value
		} else {
			text += " "
		}
	}
	if zshExpansion.MatchString(text) {
		return text + ", which zsh expands"
	}
	return ""
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
				s.refuse(s.arithmetic(n.Index))
			}
		case *syntax.ParamExp:
			s.param(n)
		case *syntax.Word:
			s.refuse(zshReads(n))
		case *syntax.CmdSubst, *syntax.ProcSubst:
			s.searches(n)
		case *syntax.ExtGlob:
			// Its text is not parsed; and zsh may take it for a condition to
			// run.
			s.fail("the pattern (%s)", n.Pattern.Value)
		case *syntax.ArithmExp:
			s.refuse(s.arithmetic(n.X))
		case *syntax.ArithmCmd:
			s.refuse(s.arithmetic(n.X))
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				s.refuse(s.arithmetic(x))
			}
		case *syntax.CStyleLoop:
			s.refuse(s.arithmetic(n.Init, n.Cond, n.Post))
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
	before, sent := s.piping, s.commands[from:to]
	_, returns := s.reading().returns(n, &s.left)
	s.told = before.told || returns || slices.ContainsFunc(sent, func(c command) bool { return s.reading().echoes(c.words) })
	s.formed = before.formed || s.told && slices.ContainsFunc(sent, func(c command) bool {
		return base(c.words[0]) != "echo" || !allStatic(c.words) || slices.Contains(c.words, "-e")
	})
	s.lists, s.echoed = listedBy(sent), nil
	for _, c := range sent {
		s.echoed = append(s.echoed, c.words[1:]...)
	}
	s.piped++
	s.walk(n.Y)
	s.piping = before
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
	s.name(names, s.lists)
	if (s.told || len(in.texts) > 0) && listed(" xargs gxargs parallel ", base(program)) && (s.formed || joinsMark(names)) {
		writes := slices.ContainsFunc(names, func(w string) bool { return listed(writers, base(w)) })
		s.files = append(s.files, shellFile{name: string(anyText), writes: writes, opens: true})
	}
	s.spelled(call.Args)
	e := expander{single: s.oneWord(program, &s.left)}
	words := e.words(call.Args)
	if below {
		words = append([]string{path}, e.words(call.Args[1:])...)
	}
	s.run(words, in)
}

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
