package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// learnings is how often a text is searched for the values of its variables:
// one may be made of another.
const learnings = 4

// learn records the possible values of the variables of a text. The order of
// texts does not matter: every value counts everywhere.
func (s *script) learn(file *syntax.File, text string) {
	s.dots = s.dots || strings.Contains(strings.ToLower(text), "glob")
	before := s.size()
	defer func() {
		s.later = s.later || s.learned && s.size() > before
		s.learned = true
	}()
	for n := range learnings {
		l := learner{knowledge: s.knowledge, bounds: &s.bounds, fed: make(map[*syntax.CallExpr]bool), local: make(map[*syntax.Assign]bool)}
		kept := s.kept.size()
		syntax.Walk(file, l.visit)
		if len(l.changed) == 0 && s.kept.size() == kept || s.unread != "" {
			return
		}
		if n == learnings-1 { // it never settles
			for name := range s.vars {
				l.give(name, true)
			}
		}
	}
}

// note records a property of a variable.
func note(set map[string]bool, name string, is bool) {
	if is {
		set[name] = true
	}
}

// learner reads a text once.
type learner struct {
	*knowledge
	*bounds
	changed []string                  // variables that may hold more than was known before
	fed     map[*syntax.CallExpr]bool // commands that may read words of the text
	local   map[*syntax.Assign]bool   // assignments for one command of the shell, which does not split words
	dark    bool                      // the value being assembled is unknown, though its parts are known
}

// feed records which commands may read words of the text itself: from a
// here-document, a substitution, or another file descriptor.
func (l *learner) feed(stmt *syntax.Stmt) {
	made, writes := false, false
	for _, r := range stmt.Redirs {
		switch {
		case r.Hdoc != nil || r.Op == syntax.WordHdoc || r.Op == syntax.DplIn:
			made = true
		case r.Op == syntax.RdrIn && r.Word != nil:
			made = made || l.tellsFiles || strings.HasPrefix(r.Word.Lit(), "/dev/") || strings.HasPrefix(r.Word.Lit(), "/proc/") || l.reading().printsItself(r.Word, &l.left)
		case r.Op != syntax.DplOut:
			writes = true
		}
	}
	l.tellsFiles = l.tellsFiles || writes && l.reading().prints(stmt, &l.left, func(words []string) bool {
		echoes, _ := l.reading().telling(words)
		return echoes
	})
	if made {
		l.feeds(stmt)
		if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			name := base(call.Args[0].Lit())
			l.tellsAll = l.tellsAll || slices.Contains(l.functions, name) || listed(" exec eval source . builtin command ", name)
		}
	}
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		name := call.Args[0].Lit()
		if l.tellsAll || listed(" read mapfile readarray builtin command ", name) && slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return strings.HasPrefix(w.Lit(), "-") && strings.Contains(w.Lit(), "u") }) {
			l.fed[call] = true
		}
		for _, a := range call.Assigns {
			if name == "read" && a.Name != nil && a.Name.Value == "IFS" {
				l.local[a] = true
			}
		}
	}
}

// feeds records that all commands in a part of the text may read words of the
// text.
func (l *learner) feeds(node syntax.Node) {
	syntax.Walk(node, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			l.fed[call] = true
		}
		return l.spend(2)
	})
}

// put records values of a variable.
func (l *learner) put(name string, number bool, values ...string) {
	for _, v := range values {
		if len(v) > maxPath {
			v = string(anyWords)
			l.built[name] = true
		}
		switch {
		case slices.Contains(l.vars[name], v):
		case len(l.vars[name]) > maxValues:
			l.give(name, false)
		case l.spend(len(v)):
			l.vars[name] = append(l.vars[name], v)
			l.held++
			l.changed = append(l.changed, name)
		}
	}
	l.dots = l.dots || name == "GLOBIGNORE" || name == "BASHOPTS" || name == "SHELLOPTS"
	l.vague = l.vague || name == "BASHOPTS" || name == "BASH_COMPAT"
	if name == "BASH_ARGV0" {
		l.put("0", number, values...)
	}
	note(l.texts, name, !number)
	note(l.built, name, l.dark)
}

// give records that a variable may hold anything. It is built if the text
// assembles it from known parts.
func (l *learner) give(name string, further bool) {
	l.built[name] = true
	if anything := string(anyWords); !slices.Contains(l.vars[name], anything) && (further || len(l.vars[name]) <= maxValues+1) {
		l.vars[name] = append(l.vars[name], anything)
		l.held++
	}
}

func (l *learner) visit(node syntax.Node) bool {
	l.dark = false
	e := expander{values: l.vars, wordReading: l.reading(), obscure: func(variable string) { l.dark = l.dark || variable == "" || l.built[variable] }, work: &l.left}
	switch n := node.(type) {
	case *syntax.FuncDecl:
		if n.Name != nil && !slices.Contains(l.functions, n.Name.Value) {
			l.functions = append(l.functions, n.Name.Value)
		}
	case *syntax.Assign:
		if !l.local[n] {
			l.assigned(e, n)
		}
	case *syntax.WordIter:
		for _, item := range n.Items {
			l.put(n.Name.Value, l.isNumber(item), e.word(item)...)
		}
		if len(n.Items) == 0 {
			l.put(n.Name.Value, false, string(anyWords))
		}
	case *syntax.ParamExp:
		if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			l.put(n.Param.Value, l.isNumber(n.Exp.Word), string(anyWords))
			if n.Exp.Word != nil {
				l.put(n.Param.Value, l.isNumber(n.Exp.Word), e.assigned(n.Exp.Word)...)
			}
		}
	case *syntax.Stmt:
		l.feed(n)
		for _, r := range n.Redirs {
			if r.Op != syntax.RdrIn && r.Op != syntax.DplIn && r.Op != syntax.DplOut && r.Op != syntax.WordHdoc && r.Hdoc == nil {
				for _, name := range e.word(r.Word) {
					l.kept.makes(name, l.dark)
				}
			}
		}
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && l.reading().printsItself(n.X, &l.left) {
			l.feeds(n.Y)
		}
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			l.called(e, n)
		}
	case *syntax.DeclClause:
		l.declares(n.Variant.Value, declared(e, n))
	}
	return l.unread == ""
}

// assigned records the values that an assignment gives to a variable.
func (l *learner) assigned(e expander, n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	name := n.Name.Value
	note(l.arrays, name, n.Array != nil || n.Index != nil)
	if n.Array != nil {
		for _, elem := range n.Array.Elems {
			l.put(name, l.isNumber(elem.Value), e.word(elem.Value)...)
		}
		if len(n.Array.Elems) == 0 {
			l.put(name, true, "")
		}
		return
	}
	if n.Value == nil {
		if name == "IFS" {
			l.put(name, false, "")
		}
		return
	}
	values := e.assigned(n.Value)
	if n.Append {
		before := append([]string{""}, l.vars[name]...)
		if len(before)*len(values) > maxValues {
			l.give(name, true)
			before = before[:1]
		}
		var joined []string
		for _, front := range before {
			for _, v := range values {
				joined = append(joined, front+v)
			}
		}
		values = joined
	}
	l.put(name, l.isNumber(n.Value), values...)
}

// called records the variables that a command of the shell fills, and the
// effects of the arguments of set and of functions.
func (l *learner) called(e expander, n *syntax.CallExpr) {
	program := expander{}.word(n.Args[0])
	words := e.words(n.Args[1:])
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok && named.MatchString(word) { // of env, declare and similar commands
			l.put(strings.TrimSuffix(name, "+"), digits.MatchString(value), value)
		}
	}
	l.reading().keeps(append(expander{}.word(n.Args[0]), words...), l.fed[n], l.dark)
	if own := ownCommand(expander{}.words(n.Args)); len(own) > 0 {
		switch name := base(own[0]); name {
		case "read", "printf", "mapfile", "readarray", "getopts", "wait":
			names, arrays, _ := filled(name, own[1:])
			for _, variable := range names {
				l.dark = l.dark || name == "printf" || name == "getopts" || l.fed[n]
				l.put(variable, false, string(anyWords))
				if name != "printf" {
					l.put(variable, false, l.kept.returned()...)
				}
				note(l.arrays, variable, arrays)
			}
		case "shopt", "setopt", "unsetopt", "set":
			for _, word := range own[1:] {
				l.option(word)
			}
		case "declare", "typeset", "local", "export", "readonly":
			l.declares(name, own[1:])
		}
	}
	if len(program) != 1 || program[0] != "set" && !slices.Contains(l.functions, program[0]) {
		return
	}
	words = append(words, string(anyWords)) // there may be other calls
	l.arguments(words)
}

// arguments records the possible arguments of a script or a function.
func (l *learner) arguments(words []string) {
	for _, name := range [...]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"} {
		l.put(name, false, words...)
	}
}

// declares records the values that declare and similar commands give to
// variables.
func (l *learner) declares(command string, args []string) {
	options, rest, _ := getopt(command, args)
	for _, word := range rest {
		name, value, ok := strings.Cut(word, "=")
		if name = strings.TrimSuffix(name, "+"); ok {
			l.put(name, digits.MatchString(value), value)
		}
		note(l.arrays, name, hasLetter(options, "aA"))
		if hasLetter(options, "luc") { // the shell changes what is assigned
			l.give(name, true)
		}
	}
}

// assign reads an assignment. The value of a variable that holds code is a
// command.
func (s *script) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	if a.Index != nil {
		s.refuse(s.arithmetic(a.Index))
	}
	s.variable(a, false)
	e := expander{values: s.vars, wordReading: s.reading()}
	for _, value := range e.word(a.Value) {
		s.mention(value, false)
		switch a.Name.Value {
		case "HOME":
			s.homes = append(s.homes, value)
			s.enter(value)
		case "OLDPWD", "PWD", "CDPATH", "TMPDIR":
			s.enter(value)
		}
	}
	if a.Array != nil {
		for _, elem := range a.Array.Elems {
			for _, value := range e.word(elem.Value) {
				s.mention(value, false)
			}
		}
	}
}

// variable reads the value of a variable that may run.
func (s *script) variable(a *syntax.Assign, prefix bool) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	if renaming.MatchString(name) {
		s.fail("%s is assigned to", name)
		return
	}
	if a.Value == nil || prefix {
		return // it is visited again as an assignment
	}
	if counting.MatchString(name) && s.isNumber(a.Value) {
		return
	}
	for _, value := range (expander{}).assigned(a.Value) {
		s.set(name, value)
	}
}

// iterates reads the values that a loop gives to its variable.
func (s *script) iterates(n *syntax.WordIter) {
	if !decides(n.Name.Value) {
		return
	}
	for _, item := range n.Items {
		for _, value := range (expander{}).word(item) {
			s.set(n.Name.Value, value)
		}
	}
	if len(n.Items) == 0 || renaming.MatchString(n.Name.Value) {
		s.fail("a loop fills %s, which is run", n.Name.Value)
	}
}

// evaluates reports whether a name is evaluated: the subscript of an array is
// code.
func evaluates(word string) bool {
	return strings.Contains(word, "[") && strings.ContainsAny(word, "$`"+string(anyText)+string(anyWords)) || strings.ContainsRune(word, openSet)
}

// named is an assignment as an argument, whose name is known.
var named = lazily(`^[A-Za-z_][A-Za-z0-9_]*(\+?=|$)`)

// declare reads declare, export and similar keywords of the parser.
func (s *script) declare(d *syntax.DeclClause) {
	if d.Variant.Value == "nameref" {
		s.fail("nameref makes code of values")
	}
	s.declarations(d.Variant.Value, declared(expander{}, d))
}

// declared returns the arguments of a declaration as words. Assigned values are
// not split into words.
func declared(e expander, d *syntax.DeclClause) []string {
	var words []string
	for _, a := range d.Args {
		switch {
		case a.Name == nil:
			words = append(words, e.word(a.Value)...)
		case a.Value != nil:
			for _, value := range e.assigned(a.Value) {
				words = append(words, a.Name.Value+"="+value)
			}
		default:
			words = append(words, a.Name.Value)
		}
	}
	return words
}

// param reads the parts of a variable's expansion that the shell evaluates.
func (s *script) param(p *syntax.ParamExp) {
	if p.Index != nil {
		s.refuse(s.arithmetic(p.Index))
	}
	if p.Slice != nil {
		s.refuse(s.arithmetic(p.Slice.Offset, p.Slice.Length))
	}
	if p.Excl && p.Names == 0 && p.Param != nil && !s.numeric(p.Param.Value) {
		s.fail("${!%s} is the value of another variable", p.Param.Value)
	}
	if p.Repl != nil && p.Repl.With != nil {
		for _, value := range (expander{values: s.vars, wordReading: s.reading()}).word(p.Repl.With) {
			s.mention(value, false)
		}
	}
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) && p.Param != nil && decides(p.Param.Value) {
		s.fail("an expansion assigns to %s, which is run", p.Param.Value)
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		s.fail("the value of a variable is expanded again")
	}
}

// unaryTest reads [[ -v name ]] and similar tests.
func (s *script) unaryTest(t *syntax.UnaryTest) {
	w, ok := t.X.(*syntax.Word)
	if !ok {
		return
	}
	if t.Op == syntax.TsVarSet || t.Op == syntax.TsRefVar {
		for _, word := range (expander{}).word(w) {
			if !named.MatchString(word) || evaluates(word) || !static(word) {
				s.fail("a test of a name that is not known before it runs")
			}
		}
	}
	for _, name := range (expander{values: s.vars, wordReading: s.reading()}).word(w) {
		s.files = append(s.files, shellFile{name: name})
	}
}

// binaryTest reads comparisons of numbers, which are arithmetic.
func (s *script) binaryTest(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, x := range []syntax.TestExpr{t.X, t.Y} {
			if w, ok := x.(*syntax.Word); ok {
				s.refuse(s.arithmetic(w))
			}
		}
	}
}
