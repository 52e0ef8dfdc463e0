package show

import (
	"strings"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// shortLimit is the length of a text that is to stand in a line.
const shortLimit = 160

// Short returns the beginning of a text as one line.
func Short(s string) string {
	cut := Head(s, 4*shortLimit)
	text := strings.Join(strings.Fields(cut), " ")
	if out := Head(text, shortLimit); len(out) < len(text) || len(cut) < len(s) {
		return out + "…"
	}
	return text
}

// Head returns the first bytes of a text, and cuts no character in two.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Line returns a text that may be hostile or huge as one line: its first bytes,
// with invisible characters as escapes, and whether there is more.
func Line(s string, most int) (shown string, cut bool) {
	head := Head(s, most)
	if cut = len(head) < len(s); cut {
		return terminal.Line(head) + "…", cut
	}
	return terminal.Line(head), cut
}

// Text returns the shown part of a text that may be hostile or huge: its first
// bytes, with invisible characters as escapes, and a note about the rest.
func Text(s string, most int) (shown, rest string) {
	head := Head(s, most)
	if n := len(s) - len(head); n > 0 {
		rest = Bytes(int64(n)) + " more are not shown"
	}
	return terminal.Clean(head), rest
}
