package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxValues is how many words one word may become, by braces and by variables
// with several values, before it counts as not known.
const maxValues = 64

// expander turns words of the syntax tree into texts, see [anyText].
type expander struct {
	// values are what variables may hold; nil leaves every variable unknown.
	values map[string][]string
	wordReading
	// single reports whether an expansion outside of quotes is known to be one
	// harmless word; nil: none is.
	single func(syntax.WordPart) bool
	// obscure learns about each variable that is expanded, and with an empty name about
	// a value that is known until an operator changes it; nil: nobody is.
	obscure func(variable string)
	// whole says that words are not split and wildcards stand for themselves, as in
	// what is assigned; the text of [expander.assigned].
	whole bool
	// work is what is left of [maxWork]; nil: operators cost nothing.
	work *int
}

// wordReading says what changes how the shell reads words.
type wordReading struct {
	lists map[string]bool // variables that may be arrays
	vague bool            // operators may do other things than they usually do
	split []string        // characters at which words are split, if the text sets them
	// written says that the text writes files with what it says.
	written   bool
	functions []string // that the text defines
	paths     bool     // it says where programs are
	moved     bool     // it says where temporary files are
	// kept is what the text leaves behind, for itself; nil: nothing.
	kept       *keeping
	fromItself bool // commands may read from the text without saying so
}

// words are the words that the shell would make of these, as far as that is
// known before it runs.
func (e expander) words(list []*syntax.Word) []string {
	var words []string
	for _, w := range list {
		words = append(words, e.word(w)...)
	}
	return words
}

// word returns what one word becomes: several by braces, and one for each value
// of a variable that is known.
func (e expander) word(w *syntax.Word) []string {
	if w == nil {
		return nil
	}
	split := *w // Walk does not know what braces become
	syntax.SplitBraces(&split)
	values := e.parts(split.Parts, false)
	for i, v := range values {
		values[i] = closeSets(v)
	}
	if len(values) > 1 { // what braces leave empty is not a word
		values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	}
	if e.values != nil && e.work != nil {
		values = e.kept.fitting(values, e.work)
	}
	return values
}

// openSet is a bracket outside of quotes, until it is known whether it is
// closed. The characters between may be quoted.
const openSet = '\ufdd4'

// closeSets turns sets of characters into wildcards; what stands between the
// first and the last bracket of a name is one.
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

// text is a word that braces do not apply to, such as the file of a
// redirection; of several values only the unknown is left.
func (e expander) text(w *syntax.Word) string {
	if values := e.parts(w.Parts, false); len(values) == 1 {
		return closeSets(values[0])
	}
	return string(anyText)
}

// assigned is what a variable becomes when a word is assigned to it.
func (e expander) assigned(w *syntax.Word) []string {
	if w == nil {
		return nil
	}
	e.whole = true
	return e.parts(w.Parts, true)
}

func (e expander) parts(parts []syntax.WordPart, quoted bool) []string {
	whole := []string{""}
	var tail strings.Builder // of all of them, as long as there is one way to continue
	for i, part := range parts {
		values := e.part(part, quoted)
		if e.values != nil && i+1 < len(parts) && modified(part, parts[i+1]) {
			values = []string{string(anyText)}
		}
		if lit, ok := part.(*syntax.Lit); ok && e.values != nil && i > 0 && modified(parts[i-1], lit) {
			values = []string{unescape(modifiers.ReplaceAllString(lit.Value, "$2"))}
		}
		if len(values) == 1 {
			tail.WriteString(values[0])
			continue
		}
		if len(whole)*len(values) > maxValues {
			return []string{string(unknown(quoted))}
		}
		var next []string
		for _, head := range whole {
			for _, value := range values {
				next = append(next, head+tail.String()+value)
			}
		}
		whole = next
		tail.Reset()
	}
	for i := range whole {
		whole[i] += tail.String()
	}
	return whole
}

// modifiers follow a variable in zsh, and change its value.
var modifiers = regexp.MustCompile(`^(:[A-Za-z])+($|[/:.])`)

// modified reports whether zsh changes the value of a variable by what follows.
func modified(part, next syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	lit, follows := next.(*syntax.Lit)
	return ok && p.Short && follows && modifiers.MatchString(lit.Value)
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

// escaped is a text with escapes, which can spell anything. For the names of files,
// only escapes made of digits are read.
func (e expander) escaped(text string) string {
	decoded := numberEscape.ReplaceAllStringFunc(text, func(escape string) string {
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
	decoded = blankEscape.ReplaceAllString(decoded, " ") // as names, words between blanks are the same
	if e.values == nil || strings.Contains(decoded, `\`) {
		if !plainEscapes.MatchString(text) {
			e.obscured("")
		}
		return string(anyText)
	}
	return decoded
}

// plainEscapes is a text whose escapes do not stand for letters of a name.
var plainEscapes = regexp.MustCompile(`^([^\\]|\\[abeEfnrtv\\'"?])*$`)

var blankEscape = regexp.MustCompile(`\\[nt]`)

var numberEscape = regexp.MustCompile(`\\(x[0-9a-fA-F]{2}|[0-7]{3})`)

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
	if p.Excl || p.Names != 0 || shellFilled.MatchString(name) { // names and keys, and what the shell has put there
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
		return []string{string(unknown(quoted)), ""} // most likely it is not set
	}
	if len(all) == 0 || len(all) > maxValues {
		return []string{string(unknown(quoted))}
	}
	if !quoted {
		all = wildcards(all)
	}
	return all
}

// obscured says that a value is not known, although the text puts it together.
func (e expander) obscured(variable string) {
	if e.obscure != nil {
		e.obscure(variable)
	}
}

// shellFilled are variables that the shell fills by itself with what it reads,
// finds or runs.
var shellFilled = regexp.MustCompile(`^(_|REPLY|MAPFILE|OPTARG|FUNCNAME|DIRSTACK|BASH_(REMATCH|COMMAND|ARGV|ARGV0|EXECUTION_STRING)|COMP_\w+|READLINE_\w+)$`)

// splitWords adds the words that values become where the text says at which
// characters words end.
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

// wildcards are values outside of quotes: the shell looks for files that fit.
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

// unescape reads a text outside of quotes.
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

// withoutQuoting takes out the backslashes that quote a character.
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

// literalText returns the text of a word in which nothing is expanded, in which
// quotes are fine and wildcards are not.
func literalText(w *syntax.Word) (string, bool) {
	values := expander{}.word(w)
	if len(values) != 1 || !static(values[0]) {
		return "", false
	}
	return values[0], true
}
