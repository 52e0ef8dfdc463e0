package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxOperand is the longest value that operators are applied to.
const maxOperand = 256

// operated returns the values of a variable after the operator of an expansion,
// as in ${f%.go}. It is not ok if a value is known and the result is not.
func (e expander) operated(p *syntax.ParamExp, all []string) (values []string, ok bool) {
	ok = true
	for _, v := range all {
		if e.work != nil {
			if *e.work -= len(v) + costOfText; *e.work < 0 { // the command is denied
				return nil, false
			}
		}
		results := e.operate(p, v)
		switch {
		case results != nil:
			values = append(values, results...)
		case static(v) || strings.ContainsFunc(v, isSpreadOrText) && !whollyUnknown(v): // all or part of it is known
			ok = false
			values = append(values, string(anyText))
		case manyNames(v):
			values = append(values, string(anyText))
		default:
			values = append(values, string(anyPart))
		}
	}
	return values, ok
}

// operate returns the value of a variable after an operator; nil if it is
// unknown.
func (e expander) operate(p *syntax.ParamExp, value string) []string {
	switch {
	case len(value) > maxOperand || e.vague || strings.ContainsFunc(value, func(r rune) bool { return r >= 0x80 && !isUnknown(r) }):
		return nil // a locale, or an option of the shell, may change its effect
	case p.Slice != nil && e.isList(p):
		return append(sliced(p.Slice, value), value) // a slice of the elements, not of the characters
	case p.Slice != nil:
		return sliced(p.Slice, value)
	case p.Repl != nil:
		return e.replaced(p.Repl, value)
	case p.Exp == nil:
		return []string{value}
	}
	switch p.Exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		pattern, ok := e.operand(p.Exp.Word)
		if !ok {
			return nil
		}
		return removed(p.Exp.Op, value, pattern)
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		if p.Exp.Word != nil && len(p.Exp.Word.Parts) > 0 {
			return nil
		}
		return []string{cased(p.Exp.Op, value)}
	}
	return nil
}

// isList reports whether an expansion is about a list of values.
func (e expander) isList(p *syntax.ParamExp) bool {
	if p.Param.Value == "@" || p.Param.Value == "*" || e.lists[p.Param.Value] {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// operand returns the pattern of an operator, with the stars of [unescape].
func (e expander) operand(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", true
	}
	values := e.parts(w.Parts, false)
	if len(values) != 1 || strings.Contains(values[0], "(") || strings.ContainsFunc(values[0], func(r rune) bool { return r >= 0x80 && r != anyName && r != anyChar }) {
		return "", false
	}
	return values[0], true
}

// removed removes the beginning or the end of a value. From a partly known
// value, it removes only text in the known part.
func removed(op syntax.ParExpOperator, value, pattern string) []string {
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
	long := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	whole := static(value)
	if !whole && long && pattern == string(anyName)+"/" && !strings.ContainsFunc(value, isSpreadOrText) {
		return []string{value[strings.LastIndexByte(value, '/')+1:]} // the last name: a star has no slash
	}
	if !whole && long {
		if !static(pattern) {
			return nil
		}
		long = false // a text has only one length
	}
	fits := expressionOf(pattern)
	cuts := cutsOf(value)
	if suffix != long { // from the end to the front
		slices.Reverse(cuts)
	}
	for _, at := range cuts {
		part, rest := value[:at], value[at:]
		if suffix {
			part, rest = rest, part
		}
		if !static(part) {
			return nil
		}
		if fits.MatchString(part) {
			return []string{rest}
		}
	}
	if !whole {
		return nil
	}
	return []string{value}
}

// cutsOf returns the places between the characters of a value.
func cutsOf(value string) []int {
	var list []int
	for i := range value {
		list = append(list, i)
	}
	return append(list, len(value))
}

// expressionOf returns a pattern of the shell as a regular expression.
func expressionOf(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:` + expressionText(pattern) + `)$`)
}

func expressionText(pattern string) string {
	var b strings.Builder
	for _, r := range pattern {
		switch r {
		case anyName:
			b.WriteString(".*")
		case anyChar:
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// replaced returns a value in which a pattern is replaced.
func (e expander) replaced(r *syntax.Replace, value string) []string {
	pattern, ok := e.operand(r.Orig)
	if !ok || !static(value) {
		return nil
	}
	with := []string{""}
	if r.With != nil {
		with = e.parts(r.With.Parts, true)
	}
	// The first character may restrict where to look, unless a quote hides it.
	type way struct{ front, pattern, back string }
	ways := []way{{pattern: pattern}}
	if rest, ok := strings.CutPrefix(pattern, "#"); ok {
		ways = append(ways, way{"^", rest, ""})
	} else if rest, ok := strings.CutPrefix(pattern, "%"); ok {
		ways = append(ways, way{"", rest, "$"})
	} else if rest, ok := strings.CutPrefix(pattern, "/"); ok {
		ways = append(ways, way{"", rest, ""})
	}
	var values []string
	for _, w := range ways {
		if w.pattern == "" && w.front+w.back == "" {
			values = append(values, value)
			continue
		}
		fits := regexp.MustCompile(`(?s)` + w.front + `(?:` + expressionText(w.pattern) + `)` + w.back)
		fits.Longest()
		for _, text := range with {
			if strings.Contains(text, "&") { // it may stand for the match
				return nil
			}
			for _, limit := range []int{1, -1} {
				if result := replaceSome(fits, value, text, limit); !slices.Contains(values, result) {
					values = append(values, result)
				}
			}
		}
	}
	return values
}

func replaceSome(fits *regexp.Regexp, value, with string, limit int) string {
	var b strings.Builder
	last := 0
	for _, at := range fits.FindAllStringIndex(value, limit) {
		if at[0] == at[1] && limit < 0 {
			continue
		}
		b.WriteString(value[last:at[0]])
		b.WriteString(with)
		last = at[1]
	}
	b.WriteString(value[last:])
	return b.String()
}

// cased changes the case of a value.
func cased(op syntax.ParExpOperator, value string) string {
	switch op {
	case syntax.UpperAll:
		return strings.ToUpper(value)
	case syntax.LowerAll:
		return strings.ToLower(value)
	}
	first, size := utf8.DecodeRuneInString(value)
	if size == 0 || isUnknown(first) {
		return value
	}
	if op == syntax.UpperFirst {
		return string(unicode.ToUpper(first)) + value[size:]
	}
	return string(unicode.ToLower(first)) + value[size:]
}

// sliced returns a part of a value, if the numbers are literal.
func sliced(s *syntax.Slice, value string) []string {
	list := []rune(value)
	from, ok := numberOf(s.Offset, 0)
	length, known := numberOf(s.Length, len(list))
	if !ok || !known || !static(value) {
		return nil
	}
	if from < 0 {
		from += len(list)
	}
	if from < 0 || from > len(list) {
		return []string{""}
	}
	to := from + length
	if length < 0 {
		to = len(list) + length
	}
	if to = min(to, len(list)); to < from {
		return []string{""}
	}
	return []string{string(list[from:to])}
}

// numberOf returns a literal number.
func numberOf(x syntax.ArithmExpr, missing int) (n int, ok bool) {
	switch x := x.(type) {
	case nil:
		return missing, true
	case *syntax.Word:
		n, err := strconv.Atoi(x.Lit())
		return n, err == nil && strconv.Itoa(n) == x.Lit() && n < 1<<20
	case *syntax.UnaryArithm:
		n, ok = numberOf(x.X, 0)
		return -n, ok && x.Op == syntax.Minus && !x.Post
	case *syntax.ParenArithm:
		return numberOf(x.X, 0)
	}
	return 0, false
}
