package policy

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic reads expressions, and returns why they may run something; empty if
// they cannot. The shell evaluates the value of a variable in
// an expression again, and runs the substitutions in its subscripts; so every
// variable must be known to hold a number. Variables that the text does not
// assign count as numbers: they come from the environment.
func (k *knowledge) arithmetic(list ...syntax.ArithmExpr) (why string) {
	for _, x := range list {
		if x == nil {
			continue
		}
		syntax.Walk(x, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.CmdSubst:
				if why == "" && !k.printsNumber(n) {
					why = "arithmetic with what a command prints"
				}
				return false
			case *syntax.ParamExp:
				why = cmp.Or(why, k.counts(n))
				return false
			case *syntax.SglQuoted:
				why = cmp.Or(why, k.expression(n.Value))
			case *syntax.Lit:
				why = cmp.Or(why, k.expression(n.Value))
			}
			return true
		})
	}
	return why
}

func (k *knowledge) counts(p *syntax.ParamExp) (why string) {
	plain := p.Param != nil && !p.Excl && p.Exp == nil && p.Repl == nil && p.Names == 0 && p.Slice == nil
	switch {
	case p.Length:
	case !plain || !k.numeric(p.Param.Value):
		return "arithmetic with a value that is not known before it runs"
	case p.Index != nil:
		return k.arithmetic(p.Index)
	}
	return ""
}

var identifier = lazily(`[A-Za-z_][A-Za-z0-9_]*`)

// expression reads a text of an expression.
func (k *knowledge) expression(text string) (why string) {
	if strings.ContainsAny(text, "$`\\") {
		return "an expression in quotes"
	}
	for _, name := range identifier.compile().FindAllString(text, -1) {
		if !k.numeric(name) {
			return "arithmetic with " + name + ", whose value is not known before it runs"
		}
	}
	return ""
}

// numeric reports whether a variable holds numbers only, or nothing.
func (k *knowledge) numeric(name string) bool {
	return name != "" && !strings.ContainsAny(name[:1], "0123456789@*") && !k.texts[name] && !shellText.MatchString(name)
}

// shellText are the variables that the shell itself fills with text.
var shellText = lazily(`^(_|REPLY|MAPFILE|OPTARG|FUNCNAME|DIRSTACK|COPROC|PWD|OLDPWD|BASH(_(REMATCH|COMMAND|ARGV|ARGV0|SOURCE|EXECUTION_STRING))?|COMP_\w+|READLINE_\w+)$`)

var digits = lazily(`^[-+]?[0-9]*$`)

// isNumber reports whether a word is always a number.
func (k *knowledge) isNumber(w *syntax.Word) bool {
	return w == nil || k.areNumbers(w.Parts)
}

func (k *knowledge) areNumbers(parts []syntax.WordPart) bool {
	for _, part := range parts {
		ok := false
		switch p := part.(type) {
		case *syntax.Lit:
			ok = digits.MatchString(p.Value) || sequence.MatchString(p.Value)
		case *syntax.SglQuoted:
			ok = digits.MatchString(p.Value)
		case *syntax.DblQuoted:
			ok = k.areNumbers(p.Parts)
		case *syntax.ArithmExp:
			ok = true
		case *syntax.BraceExp:
			ok = true
			for _, elem := range p.Elems {
				ok = ok && k.areNumbers(elem.Parts)
			}
		case *syntax.ParamExp:
			ok = p.Length || p.Param != nil && p.Exp == nil && p.Repl == nil && !p.Excl && counted.MatchString(p.Param.Value)
		case *syntax.CmdSubst:
			ok = k.printsNumber(p)
		}
		if !ok {
			return false
		}
	}
	return true
}

var (
	sequence = lazily(`^\{-?[0-9]+\.\.-?[0-9]+(\.\.-?[0-9]+)?\}$`)
	counted  = lazily(`^([#?$!]|RANDOM|SRANDOM|SECONDS|LINENO|BASHPID|EPOCHSECONDS|COLUMNS|LINES|UID|EUID|PPID)$`)
	// numberCommand is a command that prints nothing but numbers.
	numberCommand = lazily(`^(wc( -[clmwL]+)?|nproc( --all)?|seq( [-+0-9]+)+|date [+]%[sYmdHMSjN]+|id -[ug]|tput (cols|lines))$`)
)

// printsNumber reports whether a substitution is known to print numbers, by the
// last command of its pipe.
func (k *knowledge) printsNumber(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	stmt := c.Stmts[0]
	for {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if pipe.Op != syntax.Pipe {
			return false
		}
		stmt = pipe.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	words := expander{}.words(call.Args)
	return numberCommand.MatchString(strings.Join(words, " ")) && !slices.Contains(k.functions, words[0])
}
