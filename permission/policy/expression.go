package policy

import (
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// expression is a regular expression that is compiled when it is first used. The tables of
// this package hold hundreds. Compiled at start, they would cost every program that links
// it 15 ms and 4 MB, even when it asks no policy. It is safe for concurrent use.
type expression struct {
	text    string
	compile func() *regexp.Regexp
	begins  func() *beginnings
}

// lazily returns an expression. One that does not compile panics at its first use; a test
// compiles those of the package.
func lazily(text string) *expression {
	return &expression{
		text,
		sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }),
		sync.OnceValue(func() *beginnings { return beginningsOf(text) }),
	}
}

// MatchString is that of the compiled expression.
func (e *expression) MatchString(s string) bool {
	return e.begins().allow(s) && e.compile().MatchString(s)
}

// FindStringSubmatch is that of the compiled expression.
func (e *expression) FindStringSubmatch(s string) []string {
	if !e.begins().allow(s) {
		return nil
	}
	return e.compile().FindStringSubmatch(s)
}

// beginnings are the bytes that a text which an expression fits may begin with. Most
// expressions are about options, and most words are not options: one look at the first
// byte is a tenth of what the expression costs.
type beginnings struct {
	any   bool // even no byte at all
	first [256]bool
}

// allow reports whether the expression may fit a text.
func (b *beginnings) allow(s string) bool { return b.any || s != "" && b.first[s[0]] }

// beginningsOf reads those of an expression, which are any unless it fits only at the
// beginning of a text.
func beginningsOf(text string) *beginnings {
	b := &beginnings{}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return &beginnings{any: true} // it does not compile
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || prog.StartCond()&syntax.EmptyBeginText == 0 {
		return &beginnings{any: true}
	}
	seen := make([]bool, len(prog.Inst))
	var follow func(at uint32)
	follow = func(at uint32) {
		if seen[at] {
			return
		}
		seen[at] = true
		switch inst := &prog.Inst[at]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			follow(inst.Out)
			follow(inst.Arg)
		case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop: // whatever the condition
			follow(inst.Out)
		case syntax.InstMatch:
			b.any = true
		case syntax.InstFail:
		default:
			for c := range utf8.RuneSelf {
				b.first[c] = b.first[c] || inst.MatchRune(rune(c))
			}
			for c := utf8.RuneSelf; c < len(b.first); c++ {
				b.first[c] = true // the beginning of some other rune
			}
		}
	}
	follow(uint32(prog.Start))
	return b
}
