package policy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// learnings is how often a text is looked at for what its variables hold: one
// may be made of another.
const learnings = 4

// learn notes what the variables of a text may hold. Where a text comes before
// another does not matter: every value counts everywhere.
func (s *script) learn(file *syntax.File) {
	for n := range learnings {
		l := learner{script: s}
		syntax.Walk(file, l.visit)
		if len(l.changed) == 0 || s.unread != "" {
			return
		}
		if n == learnings-1 { // it never ends
			for _, name := range l.changed {
				l.give(name, true)
			}
		}
	}
}

// learner looks at a text once.
type learner struct {
	*script
	changed []string // variables that may hold more than was known before
	dark    bool     // what is put together now is not known, though its parts are
}

// put notes values of a variable.
func (l *learner) put(name string, number bool, values ...string) {
	for _, v := range values {
		if len(v) > maxPath {
			v = string(anyWords)
		}
		switch {
		case slices.Contains(l.vars[name], v):
		case len(l.vars[name]) > maxValues:
			l.give(name, false)
		case l.spend(len(v)):
			l.vars[name] = append(l.vars[name], v)
			l.changed = append(l.changed, name)
		}
	}
	l.texts[name] = l.texts[name] || !number
	l.built[name] = l.built[name] || l.dark
}

// give says that a variable may hold anything. It is built if the text puts it
// together of what is known.
func (l *learner) give(name string, further bool) {
	l.built[name] = l.built[name] || !slices.ContainsFunc(l.vars[name], func(v string) bool { return strings.ContainsFunc(v, isSpreadOrText) })
	if anything := string(anyWords); !slices.Contains(l.vars[name], anything) && (further || len(l.vars[name]) <= maxValues+1) {
		l.vars[name] = append(l.vars[name], anything)
	}
}

func (l *learner) visit(node syntax.Node) bool {
	l.dark = false
	e := expander{values: l.vars, obscure: func(variable string) { l.dark = l.dark || variable == "" || l.built[variable] }, work: &l.left}
	switch n := node.(type) {
	case *syntax.FuncDecl:
		if n.Name != nil && !slices.Contains(l.functions, n.Name.Value) {
			l.functions = append(l.functions, n.Name.Value)
		}
	case *syntax.Assign:
		l.assigned(e, n)
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
				l.put(n.Param.Value, l.isNumber(n.Exp.Word), e.parts(n.Exp.Word.Parts, true)...)
			}
		}
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			l.called(e, n)
		}
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if a.Name != nil || a.Value == nil {
				continue
			}
			for _, word := range e.word(a.Value) {
				if name, value, ok := strings.Cut(word, "="); ok {
					l.put(strings.TrimSuffix(name, "+"), digits.MatchString(value), value)
				}
			}
		}
	}
	return l.unread == ""
}

// assigned notes what an assignment gives to a variable.
func (l *learner) assigned(e expander, n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	name := n.Name.Value
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
		return
	}
	values := e.parts(n.Value.Parts, true)
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

// called notes the variables that a command of the shell fills, and what the
// arguments of set and of functions become.
func (l *learner) called(e expander, n *syntax.CallExpr) {
	program := expander{}.word(n.Args[0])
	words := e.words(n.Args[1:])
	filled := fills(program)
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok && named.MatchString(word) { // of env, declare and their kin
			l.put(strings.TrimSuffix(name, "+"), digits.MatchString(value), value)
		} else if filled {
			l.put(word, false, string(anyWords))
		}
	}
	if len(program) != 1 || program[0] != "set" && !slices.Contains(l.functions, program[0]) {
		return
	}
	words = append(words, string(anyWords)) // there may be other calls
	for _, name := range [...]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"} {
		l.put(name, false, words...)
	}
}

func fills(name []string) bool {
	if len(name) != 1 {
		return false
	}
	switch base(name[0]) {
	case "read", "printf", "mapfile", "readarray", "getopts", "wait", "builtin", "command", "eval", "source", ".":
		return true
	}
	return false
}

// assign reads an assignment. A value of a variable that holds code is a
// command.
func (s *script) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	if a.Index != nil {
		s.arithmetic(a.Index)
	}
	s.variable(a, false)
	e := expander{values: s.vars}
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

// Variables that shells and programs run, or read as code.
var (
	// What is assigned to these names a command by another name.
	renaming = regexp.MustCompile(`^(BASH_ALIASES|BASH_CMDS|aliases|galiases|saliases|functions|commands|nameddirs)$`)
	// These are expanded like a word, and their substitutions run.
	prompts = regexp.MustCompile(`^(PS[0-4]|PROMPT[0-9]?|RPROMPT|RPS1|ENV|BASH_ENV|ZDOTDIR|NULLCMD|READNULLCMD)$`)
	// These load code, or settings that name commands.
	loading = regexp.MustCompile(`^(PERL5(OPT|DB|LIB)|PERLLIB|RUBYLIB|PYTHON(STARTUP|INSPECT|BREAKPOINT|HOME|USERBASE)|LUA_INIT\w*|MAKEFILES|COMPILER_PATH|GCC_EXEC_PREFIX|APT_CONFIG|TCLLIBPATH|BASH_LOADABLES_PATH|LD_\w+|DYLD_\w+|GIT_CONFIG|GIT_CONFIG_(GLOBAL|SYSTEM|COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)|GIT_(EXEC_PATH|TEMPLATE_DIR)|MAILPATH|LESSKEY\w*)$`)
	// These hold options of programs, of which a few are known to be harmless.
	optional       = regexp.MustCompile(`^(NODE_OPTIONS|RUBYOPT|LESS|MORE|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$`)
	harmlessOption = regexp.MustCompile(`^((--(max-old-space-size=\d+|no-warnings|no-deprecation|enable-source-maps|experimental-vm-modules|unhandled-rejections=\w+)|-[A-Zacefijmnqrsuvwx]+|-W\w*|-X\w*)( |$))*$`)
	// These hold commands, or options of programs that run something.
	commanding = regexp.MustCompile(`^(PROMPT_COMMAND|VISUAL|BROWSER|FCEDIT|CC|CXX|LD|AR|TERMINAL)$|^(GIT|LD|DYLD|BASH)_|EDITOR|PAGER|SHELL$|COMMAND|CMD|EXEC|RSH|SSH|ASKPASS|OPTIONS|OPTS?$|FLAGS$|WRAPPER|LESSOPEN|LESSCLOSE|STARTUP|PROGRAM|VIEWER|DIFF$|(?i:npm_config_)`)
)

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
	for _, value := range (expander{}).parts(a.Value.Parts, true) {
		s.set(name, value)
	}
}

// set reads the value of a variable.
func (s *script) set(name, value string) {
	switch {
	case loading.MatchString(name) && value != "/dev/null":
		s.fail("%s decides what other programs run", name)
	case optional.MatchString(name):
		if !static(value) || !harmlessOption.MatchString(value) {
			s.fail("%s decides what other programs run", name)
		}
	case prompts.MatchString(name):
		if !static(value) || strings.ContainsAny(value, "$`") {
			s.fail("%s is expanded by the shell", name)
		}
		s.ran = append(s.ran, base(value))
	case commanding.MatchString(name):
		if static(value) && strings.ContainsAny(value, "$`") {
			s.fail("%s holds a command that is not known before it runs", name)
		}
		s.commandLine(value)
	}
}

// commandLine reads a text that a program may run.
func (s *script) commandLine(text string) {
	words := pieces(text)
	if len(words) == 0 || !s.spend(len(text)) {
		return
	}
	s.ran = append(s.ran, base(words[0]))
	s.commands = append(s.commands, command{words, true})
	if static(text) && strings.ContainsAny(text, " \t\n;|&<>$`'\"\\") {
		s.maybe(false, func() { s.read(text) })
	}
}

// A name that is evaluated: the subscript of an array is code.
func evaluates(word string) bool {
	return strings.Contains(word, "[") && strings.ContainsAny(word, "$`"+string(anyText)+string(anyWords)) || strings.ContainsRune(word, openSet)
}

// named is an assignment as an argument, whose name is known.
var named = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\+?=|$)`)

// declare reads declare, export and their kin.
func (s *script) declare(d *syntax.DeclClause) {
	arrays := false
	for _, a := range d.Args {
		if a.Value == nil {
			continue
		}
		for _, word := range (expander{}).word(a.Value) {
			value := word
			if a.Name == nil {
				s.declaration(d.Variant.Value, word)
				arrays = arrays || strings.HasPrefix(word, "-") && strings.ContainsAny(word, "aA")
				_, value, _ = strings.Cut(word, "=")
			}
			// The elements of an array are expanded, quotes or not.
			if arrays && (strings.HasPrefix(value, "(") || !static(value)) {
				s.fail("%s expands the elements of an array", d.Variant.Value)
			}
		}
	}
}

// param reads what the expansion of a variable evaluates.
func (s *script) param(p *syntax.ParamExp) {
	if p.Index != nil {
		s.arithmetic(p.Index)
	}
	if p.Slice != nil {
		s.arithmetic(p.Slice.Offset, p.Slice.Length)
	}
	if p.Excl && p.Names == 0 && p.Param != nil && !s.numeric(p.Param.Value) {
		s.fail("${!%s} is the value of another variable", p.Param.Value)
	}
	if p.Repl != nil && p.Repl.With != nil {
		for _, value := range (expander{values: s.vars}).word(p.Repl.With) {
			s.mention(value, false)
		}
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		s.fail("the value of a variable is expanded again")
	}
}

// unaryTest reads [[ -v name ]] and its kin.
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
	for _, name := range (expander{values: s.vars}).word(w) {
		s.files = append(s.files, shellFile{name: name})
	}
}

// binaryTest reads comparisons of numbers, which are arithmetic.
func (s *script) binaryTest(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, x := range []syntax.TestExpr{t.X, t.Y} {
			if w, ok := x.(*syntax.Word); ok {
				s.arithmetic(w)
			}
		}
	}
}
