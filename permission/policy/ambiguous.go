package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The parser and bash do not agree about every word. Where they may differ, a
// command counts as not understood:
//
//   - Inside ${…} in double quotes or in a here-document, and inside an
//     expression, single quotes are characters like others to bash. The parser
//     takes them for quotes, and does not see what they hold.
//   - Inside ${…} and in a regular expression, bash reads <(…) and >(…) as process
//     substitutions, in the pattern of an operator even in double quotes, and zsh
//     also =(…). To the parser they are text.
//   - Bash takes the text between backquotes, removes one level of backslashes
//     and parses what remains. The parser counts backslashes, and only to a depth.

// surrounding describes the place of a word in the syntax tree.
type surrounding struct {
	quoted     bool // in double quotes or a here-document
	param      bool // in the operand of ${…}
	expression bool // in arithmetic
	raw        bool // in a here-document that is not expanded
	backquoted bool // in backquotes, whose text is read again
}

// ambiguous refuses words that bash may read differently, and reads the text of
// backquotes as bash does.
func (s *script) ambiguous(file *syntax.File, text string) {
	around := []surrounding{{}}
	raw := make(map[*syntax.Word]bool)
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			around = around[:len(around)-1]
			return true
		}
		now := around[len(around)-1]
		switch n := node.(type) {
		case *syntax.DblQuoted:
			now.quoted = true
		case *syntax.ParamExp:
			now.param = true
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			now.expression = true
		case *syntax.CmdSubst:
			if n.Backquotes && !now.backquoted {
				s.backquotes(n, text, now.quoted)
			}
			now = surrounding{backquoted: now.backquoted || n.Backquotes}
		case *syntax.ProcSubst:
			now = surrounding{backquoted: now.backquoted}
		case *syntax.Redirect:
			if n.Hdoc != nil {
				raw[n.Hdoc] = s.unexpanded(n.Word)
			}
		case *syntax.Word:
			if unexpanded, document := raw[n]; document {
				now.quoted, now.raw = true, unexpanded
			}
		case *syntax.SglQuoted:
			if (now.quoted && now.param || now.expression) && strings.ContainsAny(n.Value, "$`\\\"'{}()\n") {
				s.fail("single quotes that bash takes for text")
			}
		case *syntax.Lit:
			if !now.raw && hidesSubstitution(n.Value, now) {
				s.fail("%s, which bash expands", n.Value)
			}
		}
		around = append(around, now)
		return true
	})
}

// unexpanded reports whether the delimiter of a here-document has quotes.
func (s *script) unexpanded(delimiter *syntax.Word) bool {
	quoted := false
	for _, part := range delimiter.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			quoted = quoted || strings.Contains(p.Value, `\`)
		case *syntax.SglQuoted:
			quoted = true
			if p.Dollar {
				s.fail("a here-document whose end shells read differently")
			}
		case *syntax.DblQuoted:
			quoted = true
		default:
			s.fail("a here-document whose end shells read differently")
		}
	}
	return quoted
}

// hidesSubstitution reports whether a text of the parser has the beginning of a
// substitution.
func hidesSubstitution(text string, around surrounding) bool {
	for i := 0; i < len(text); i++ {
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '`', c == '$' && (next == '(' || next == '{' || next == '['):
			return true
		case next == '(' && around.param && strings.IndexByte("<>=", c) >= 0, next == '(' && !around.quoted && (c == '<' || c == '>'):
			return true
		}
	}
	return false
}

// backquotes reads the text between backquotes.
func (s *script) backquotes(n *syntax.CmdSubst, text string, quoted bool) {
	from, to := int(n.Left.Offset())+1, int(n.Right.Offset())
	if from > to || to >= len(text) || text[from-1] != '`' || text[to] != '`' || endOfBackquotes(text[from:]) != to-from {
		s.fail("backquotes whose end shells read differently")
		return
	}
	inner := withoutBackslashes(text[from:to], "$`\\")
	s.read(inner)
	// In double quotes a backslash also hides a quote, for some shells.
	if other := withoutBackslashes(text[from:to], "$`\\\""); quoted && other != inner {
		s.read(other)
	}
}

// endOfBackquotes returns the end of the text between backquotes, -1 if there
// is none.
func endOfBackquotes(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			return i
		}
	}
	return -1
}

// withoutBackslashes removes the backslashes before some characters.
func withoutBackslashes(text, before string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; strings.IndexByte(before, text[i]) < 0 {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
