package policy

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxValues is how many words one word may become, by braces and by variables
// with several values, before it counts as unknown.
const maxValues = 64

// expander turns words of the syntax tree into texts, see [anyText].
type expander struct {
	// values are the possible values of variables; nil leaves every variable
	// unknown.
	values map[string][]string
	wordReading
	// single reports whether an expansion outside quotes is known to be one
	// harmless word; nil: no expansion is.
	single func(syntax.WordPart) bool
	// obscure is called with each variable that is expanded, and with an empty name for
	// a value that is known until an operator changes it; nil: never.
	obscure func(variable string)
	// whole reports that words are not split and wildcards stand for themselves, as
	// in an assignment; see [expander.assigned].
	whole bool
	// work is the remaining budget of work for the text; nil: operators cost
	// nothing.
	work *int
}

// wordReading holds what changes how the shell reads words.
type wordReading struct {
	lists map[string]bool // variables that may be arrays
	vague bool            // operators may behave unusually
	split []string        // characters at which words are split, if the text sets them
	// written reports that the text writes its own words into files.
	written   bool
	functions []string // defined by the text
	paths     bool     // the text sets where programs are
	moved     bool     // the text sets where temporary files are
	// kept holds what the text leaves behind for itself; nil: nothing.
	kept       *keeping
	fromItself bool // commands may read from the text without naming it
}

// words returns the words that the shell would make of these, as far as that is
// known before it runs.
func (e expander) words(list []*syntax.Word) []string {
	words := make([]string, 0, len(list))
	for _, w := range list {
		words = append(words, e.word(w)...)
	}
	return words
}

// word expands one word: into several by braces, and into one for each known
// value of a variable.
func (e expander) word(w *syntax.Word) []string {
	if w == nil {
		return nil
	}
	split := *w // Walk does not know the result of braces
	syntax.SplitBraces(&split)
	values := e.parts(split.Parts, false)
	for i, v := range values {
		values[i] = closeSets(v)
	}
	if len(values) > 1 { // an empty result of braces is not a word
		values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	}
	if e.work != nil {
		*e.work -= costOfValue * (len(values) - 1) // a command that spends all is denied
		if e.values != nil {
			values = e.kept.fitting(values, e.work)
		}
	}
	return values
}

// openSet is a bracket outside quotes, until it is known whether it is closed.
// The characters in between may be quoted.
const openSet = '\ufdd4'

// closeSets turns sets of characters into wildcards; the text between the first
// and the last bracket of a name is one set.
func closeSets(word string) string {
	open := strings.IndexRune(word, openSet)
	if open < 0 {
		return word
	}
	rest := word[open+len(string(openSet)):]
	name, more := rest, ""
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		name, more = rest[:slash], rest[slash:]
	}
	if end := strings.LastIndexByte(name, ']'); end > 0 {
		name = string(anyName) + name[end+1:]
	} else {
		name = "[" + strings.ReplaceAll(name, string(openSet), "[")
	}
	return word[:open] + name + closeSets(more)
}

// text returns a word that braces do not apply to, such as the file of a
// redirection; several values become unknown.
func (e expander) text(w *syntax.Word) string {
	if values := e.parts(w.Parts, false); len(values) == 1 {
		return closeSets(values[0])
	}
	return string(anyText)
}

// assigned returns the values of a variable after an assignment of a word.
func (e expander) assigned(w *syntax.Word) []string {
	if w == nil {
		return nil
	}
	e.whole = true
	return e.parts(w.Parts, true)
}

func (e expander) parts(parts []syntax.WordPart, quoted bool) []string {
	whole := []string{""}
	var tail strings.Builder // shared by all, as long as there is one way to continue
	for i, part := range parts {
		values := e.part(part, quoted)
		if e.values != nil && i+1 < len(parts) && modified(part, parts[i+1]) {
			values = []string{string(anyText)}
		}
		if lit, ok := part.(*syntax.Lit); ok && e.values != nil && i > 0 && modified(parts[i-1], lit) {
			values = []string{unescape(modifiers.compile().ReplaceAllString(lit.Value, "$2"))}
		}
		if len(values) == 1 {
			tail.WriteString(values[0])
			continue
		}
		if len(whole)*len(values) > maxValues {
			return []string{string(unknown(quoted))}
		}
		next := make([]string, 0, len(whole)*len(values))
		for _, head := range whole {
			head += tail.String()
			for _, value := range values {
				next = append(next, joinedWords(head, value))
			}
		}
		whole = unique(next)
		tail.Reset()
	}
	for i := range whole {
		whole[i] += tail.String()
	}
	return whole
}

// joinedWords returns two parts of a word as one. Anything after anything is anything.
func joinedWords(head, tail string) string {
	if tail == string(anyWords) && strings.HasSuffix(head, tail) {
		return head
	}
	return head + tail
}

// unique removes the later ones of equal texts, of which there are few.
func unique(list []string) []string {
	kept := list[:0]
	for _, text := range list {
		if !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	return kept
}

// modifiers follow a variable in zsh, and change its value.
var modifiers = lazily(`^(:[A-Za-z])+($|[/:.])`)

// modified reports whether the following text changes the value of a variable
// in zsh.
func modified(part, next syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	lit, follows := next.(*syntax.Lit)
	return ok && p.Short && follows && strings.HasPrefix(lit.Value, ":") && modifiers.MatchString(lit.Value)
}

func unknown(quoted bool) rune {
	if quoted {
		return anyText
	}
	return anyWords
}

func (e expander) part(part syntax.WordPart, quoted bool) []string {
	if !quoted && e.single != nil && e.single(part) {
		return []string{string(anyText)}
	}
	switch p := part.(type) {
	case *syntax.Lit:
		if e.whole {
			return []string{withoutQuoting(p.Value)}
		}
		if quoted {
			return []string{unescapeQuoted(p.Value)}
		}
		return []string{unescape(p.Value)}
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			return []string{e.escaped(p.Value)}
		}
		return []string{p.Value}
	case *syntax.DblQuoted:
		e.whole = false
		return e.parts(p.Parts, true)
	case *syntax.ParamExp:
		return e.param(p, quoted)
	case *syntax.ArithmExp: // a number
		if e.values != nil {
			return []string{string(anyCount)}
		}
		return []string{string(anyText)}
	case *syntax.CmdSubst:
		if e.values == nil {
			break
		}
		kept, formed := e.returns(p, e.work)
		if value, ok := e.printed(p); ok && !kept {
			return []string{value}
		}
		if formed || e.printsItself(p, e.work) || e.written && readsFile(p) {
			e.obscured("")
		} else if kept {
			return append(e.kept.returned(), string(unknown(quoted)))
		}
	case *syntax.ProcSubst:
		return []string{"/dev/fd/" + string(anyName)}
	case *syntax.ExtGlob:
		return []string{string(anyName)}
	case *syntax.BraceExp:
		if p.Sequence {
			return sequenceOf(p)
		}
		var all []string
		for _, elem := range p.Elems {
			all = append(all, e.parts(elem.Parts, quoted)...)
		}
		return all
	}
	return []string{string(unknown(quoted))}
}

// readsFile reports whether a substitution may print a file.
func readsFile(c *syntax.CmdSubst) bool {
	found := false
	syntax.Walk(c, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Redirect:
			found = found || n.Op == syntax.RdrIn
		case *syntax.CallExpr:
			found = found || len(n.Args) > 0 && (listed(readers, base(n.Args[0].Lit())) || listed(" sed awk grep tr ", base(n.Args[0].Lit())))
		}
		return true
	})
	return found
}

// escaped returns a text with escapes, which can spell anything. For the names of
// files, only escapes made of digits are read.
func (e expander) escaped(text string) string {
	decoded := numberEscape.compile().ReplaceAllStringFunc(text, func(escape string) string {
		number, radix := escape[1:], 8
		if number[0] == 'x' {
			number, radix = number[1:], 16
		}
		n, err := strconv.ParseUint(number, radix, 7)
		if err != nil || n < ' ' || n == '\\' {
			return escape
		}
		return string(rune(n))
	})
	decoded = blankEscape.compile().ReplaceAllString(decoded, " ") // as names, words between blanks are the same
	if e.values == nil || strings.Contains(decoded, `\`) {
		if !plainEscapes.MatchString(text) {
			e.obscured("")
		}
		return string(anyText)
	}
	return decoded
}

// plainEscapes is a text whose escapes do not stand for letters of a name.
var plainEscapes = lazily(`^([^\\]|\\[abeEfnrtv\\'"?])*$`)

var blankEscape = lazily(`\\[nt]`)

var numberEscape = lazily(`\\(x[0-9a-fA-F]{2}|[0-7]{3})`)

// manyNames reports whether a value may be more than one name.
func manyNames(value string) bool {
	return strings.ContainsAny(value, "/"+string(anyText)+string(anyWords))
}

// sequenceOf lists a short sequence of numbers, as {1..5}.
func sequenceOf(b *syntax.BraceExp) []string {
	var bounds []int
	for _, elem := range b.Elems {
		n, err := strconv.Atoi(elem.Lit())
		if err != nil || elem.Lit() != strconv.Itoa(n) {
			return []string{string(anyName)}
		}
		bounds = append(bounds, n)
	}
	if len(bounds) != 2 || bounds[1] < bounds[0] || bounds[1]-bounds[0] >= maxValues {
		return []string{string(anyName)}
	}
	var all []string
	for n := bounds[0]; n <= bounds[1]; n++ {
		all = append(all, strconv.Itoa(n))
	}
	return all
}

// param returns the values of a variable.
func (e expander) param(p *syntax.ParamExp, quoted bool) []string {
	if p.Length {
		return []string{string(anyText)}
	}
	if e.values == nil || p.Param == nil {
		return []string{string(unknown(quoted))}
	}
	name := p.Param.Value
	if len(name) > 1 && strings.Trim(name, "0123456789") == "" { // as ${10}
		name = "@"
	}
	if p.Excl || p.Names != 0 || shellFilled.MatchString(name) { // names and keys, and values that the shell has put there
		e.obscured("")
		return []string{string(unknown(quoted))}
	}
	all := e.values[name]
	e.obscured(name)
	switch {
	case p.Exp == nil && p.Repl == nil && p.Slice == nil:
	case p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull && p.Exp.Word != nil: // as ${x:-word}
		all = slices.Concat(all, e.parts(p.Exp.Word.Parts, quoted), []string{string(unknown(quoted))})
	case p.Param.Value == "HOME" || p.Param.Value == "PWD" || p.Param.Value == "OLDPWD":
		if all = nil; e.kept.named() && p.Param.Value != "HOME" {
			e.obscured("")
		}
	default:
		known := true
		if all, known = e.operated(p, all); !known {
			e.obscured("")
		}
	}
	if w, ok := p.Index.(*syntax.Word); quoted && (name == "*" || ok && w.Lit() == "*") { // all elements in one word
		all = append(slices.Clone(all), string(anyText))
		if len(e.split) > 0 && len(all) > 2 {
			e.obscured("")
		}
	}
	if !quoted && len(e.split) > 0 {
		all = e.splitWords(all)
	}
	if len(all) == 0 && p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil {
		return []string{string(unknown(quoted)), ""} // most likely not set
	}
	if len(all) == 0 || len(all) > maxValues {
		return []string{string(unknown(quoted))}
	}
	if !quoted {
		all = wildcards(all)
	}
	return all
}

// obscured reports that a value is unknown, although the text puts it together.
func (e expander) obscured(variable string) {
	if e.obscure != nil {
		e.obscure(variable)
	}
}

// shellFilled are variables that the shell itself fills with whatever it reads,
// finds or runs.
var shellFilled = lazily(`^(_|REPLY|MAPFILE|OPTARG|FUNCNAME|DIRSTACK|BASH_(REMATCH|COMMAND|ARGV|ARGV0|EXECUTION_STRING)|COMP_\w+|READLINE_\w+)$`)

// splitWords adds the words of values where the text sets the characters at
// which words end.
func (e expander) splitWords(values []string) []string {
	all := slices.Clone(values)
	for _, at := range e.split {
		if !static(at) {
			e.obscured("")
			return all
		}
		for _, v := range values {
			for _, word := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(at, r) }) {
				if !slices.Contains(all, word) {
					all = append(all, word)
				}
			}
		}
	}
	return all
}

// wildcards returns values outside quotes: the shell looks for files that fit.
func wildcards(values []string) []string {
	if !slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, "*?[") }) {
		return values
	}
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = unescape(strings.ReplaceAll(v, `\`, `\\`))
	}
	return list
}

// unescape reads a text outside quotes.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case '*':
			b.WriteRune(anyName)
		case '?':
			b.WriteRune(anyChar)
		case '[':
			b.WriteRune(openSet)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// withoutQuoting removes the backslashes that quote a character.
func withoutQuoting(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i++; i == len(text) || text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescapeQuoted reads a text inside double quotes.
func unescapeQuoted(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			switch text[i] {
			case '\n':
				continue
			case '$', '`', '"', '\\':
			default:
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// literalText returns the text of a word without expansions; quotes are
// allowed, wildcards are not.
func literalText(w *syntax.Word) (string, bool) {
	values := expander{}.word(w)
	if len(values) != 1 || !static(values[0]) {
		return "", false
	}
	return values[0], true
}
