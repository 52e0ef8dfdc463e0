package policy

import (
	"regexp"
	"sync"
)

// expression is a regular expression that is compiled when it is first used. The tables of
// this package hold hundreds. Compiled at start, they would cost every program that links
// it 15 ms and 4 MB, even when it asks no policy. It is safe for concurrent use.
type expression struct {
	text    string
	compile func() *regexp.Regexp
}

// lazily returns an expression. One that does not compile panics at its first use; a test
// compiles those of the package.
func lazily(text string) *expression {
	return &expression{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// MatchString is that of the compiled expression.
func (e *expression) MatchString(s string) bool { return e.compile().MatchString(s) }

// FindStringSubmatch is that of the compiled expression.
func (e *expression) FindStringSubmatch(s string) []string { return e.compile().FindStringSubmatch(s) }
