package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// knowledge holds what is known about the variables of a text, and about
// everything that changes how the shell reads words. It only grows.
type knowledge struct {
	vars                 map[string][]string // possible values of variables
	texts                map[string]bool     // variables that may hold more than numbers
	arrays               map[string]bool     // variables that may be arrays
	built                map[string]bool     // variables that the text assembles in more ways than are tried
	held                 int                 // the number of their values
	functions            []string
	vague                bool // operators may behave unusually
	anyCase              bool // wildcards may fit letters of the other case
	dots                 bool // an option of the shell may make * stand for dots
	tellsFiles, tellsAll bool // the text writes its own words into files, or reads from itself
	later                bool // more became known after the text was read
	kept                 keeping
}

func newKnowledge() *knowledge {
	return &knowledge{vars: map[string][]string{"HOME": {"~"}, "PWD": {"~+"}, "OLDPWD": {"~-"}}, texts: make(map[string]bool), arrays: make(map[string]bool), built: make(map[string]bool)}
}

// reading returns how the shell reads words, as far as that is known.
func (k *knowledge) reading() wordReading {
	return wordReading{lists: k.arrays, vague: k.vague, split: k.vars["IFS"], written: k.tellsFiles, functions: k.functions, paths: k.texts["PATH"], moved: k.texts["TMPDIR"], kept: &k.kept, fromItself: k.tellsAll}
}

// option records the effect of an option of the shell.
func (k *knowledge) option(name string) {
	name = strings.ToLower(name)
	k.dots = k.dots || strings.Contains(name, "glob")
	k.anyCase = k.anyCase || strings.Contains(name, "caseglob")
	k.vague = k.vague || strings.Contains(name, "match") || strings.Contains(name, "compat")
}

// size grows with the knowledge.
func (k *knowledge) size() int {
	n := k.held + len(k.functions) + len(k.texts) + len(k.arrays) + len(k.built) + k.kept.size()
	for _, is := range [...]bool{k.vague, k.anyCase, k.dots, k.tellsFiles, k.tellsAll} {
		if is {
			n++
		}
	}
	return n
}

// belowDirectory reads the path of a program below a directory that is unknown
// but certainly one word, such as $HOME/go/bin/goimports.
func (k *knowledge) belowDirectory(w *syntax.Word) (path string, ok bool) {
	parts := w.Parts
	if quoted, ok := parts[0].(*syntax.DblQuoted); ok && len(quoted.Parts) > 0 {
		parts = slices.Concat(quoted.Parts, parts[1:])
	}
	switch p := parts[0].(type) {
	case *syntax.ParamExp:
		if p.Param == nil || !directoryVariable.MatchString(p.Param.Value) || p.Excl || p.Length || p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.Names != 0 {
			return "", false
		}
		if name := p.Param.Value; len(k.vars[name]) > 1 || len(k.vars[name]) == 1 && !listed(" HOME PWD ", name) {
			return "", false // the text assigns it
		}
	case *syntax.CmdSubst:
		if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 {
			return "", false
		}
		call, simple := p.Stmts[0].Cmd.(*syntax.CallExpr)
		if !simple || len(call.Args) == 0 || len(call.Assigns) > 0 || k.texts["PATH"] || !directoryCommand.MatchString(strings.Join(expander{}.words(call.Args), " ")) || slices.Contains(k.functions, call.Args[0].Lit()) {
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

// oneWord returns a function that reports which expansions outside quotes are
// harmless for a program; nil: none.
func (k *knowledge) oneWord(program string, work *int) func(syntax.WordPart) bool {
	switch {
	case program == "test" || program == "[":
		return k.harmless
	case program == "ssh":
		return func(part syntax.WordPart) bool { return k.isFound(part, work) }
	case listed(evaluators, program):
		return k.isCount
	}
	return nil
}

// harmless reports whether an expansion cannot contain a question for test: it
// is a number, comes from the environment or has values without brackets.
func (k *knowledge) harmless(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		return k.printsNumber(p)
	case *syntax.ParamExp:
		if p.Param == nil || p.Excl || p.Exp != nil || p.Repl != nil || p.Index != nil {
			return false
		}
		name := p.Param.Value
		return k.numeric(name) || !slices.ContainsFunc(k.vars[name], func(v string) bool { return !static(v) || strings.Contains(v, "[") }) && len(k.vars[name]) > 0
	}
	return false
}

// isCount reports whether an expansion is a number, or empty.
func (k *knowledge) isCount(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		return k.printsNumber(p)
	case *syntax.ParamExp:
		return k.areNumbers([]syntax.WordPart{part}) || p.Param != nil && !p.Excl && p.Exp == nil && p.Repl == nil && p.Index == nil && k.numeric(p.Param.Value)
	}
	return false
}

// isFound reports whether an expansion is found by a command, or is a variable of
// the environment: a host, and not an option that the text has assembled.
func (k *knowledge) isFound(part syntax.WordPart, work *int) bool {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		kept, _ := k.reading().returns(p, work)
		return !kept && !k.reading().printsItself(p, work) && !(k.tellsFiles && readsFile(p))
	case *syntax.ParamExp:
		plain := p.Param != nil && !p.Excl && p.Exp == nil && p.Repl == nil && p.Index == nil && p.Slice == nil
		return plain && len(k.vars[p.Param.Value]) == 0 && !shellFilled.MatchString(p.Param.Value) && !strings.ContainsAny(p.Param.Value[:1], "0123456789@*")
	}
	return false
}

// namePieces records the names that split puts into FILE for its filter: they
// begin with its last operand, or with x.
func (k *knowledge) namePieces(words []string) {
	for _, prefix := range append(operands(words), "x") {
		if value := prefix + string(anyName); !slices.Contains(k.vars["FILE"], value) && len(k.vars["FILE"]) < maxValues {
			k.vars["FILE"] = append(k.vars["FILE"], value)
			k.held++
			k.later = true
		}
	}
}
