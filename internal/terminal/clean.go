package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text in which every character that a terminal could obey, that
// reorders others, or that is invisible, is a visible escape such as \x1b, \u202e
// or \u200b. Line feeds and tabs stay. A carriage return before a line feed is
// dropped, any other is shown: it would let a line overwrite itself. Bytes that
// are not UTF-8 are shown as \x and two digits.
func Clean(text string) string {
	return clean(text, func(r rune) bool { return r == '\n' || r == '\t' })
}

// Line is Clean for text that must stay on one line: line feeds and tabs are
// shown too.
func Line(text string) string {
	return clean(text, func(rune) bool { return false })
}

func clean(text string, keep func(rune) bool) string {
	at := firstUnsafe(text, keep)
	if at < 0 {
		return text
	}
	var out strings.Builder
	out.WriteString(text[:at])
	for i := at; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\r' && keep('\n') && strings.HasPrefix(text[i+size:], "\n"):
		case safe(r, size) || keep(r):
			out.WriteString(text[i : i+size])
		case size == 1 && r == utf8.RuneError:
			out.WriteString(`\x`)
			out.WriteString(hex(rune(text[i])))
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return out.String()
}

// firstUnsafe returns where the first character stands that cannot be printed
// as it is, or -1.
func firstUnsafe(text string, keep func(rune) bool) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !safe(r, size) && !keep(r) {
			return i
		}
		i += size
	}
	return -1
}

// safe reports whether a terminal only draws r. Control characters of both
// ranges (U+009B alone begins a sequence on some terminals), line and paragraph
// separators, and format characters are not: they change the direction of text,
// or are there without being seen. Some of the last are seen in Arabic and
// related scripts, and two join the parts of letters and emoji.
func safe(r rune, size int) bool {
	switch {
	case r < utf8.RuneSelf:
		return !unicode.IsControl(r)
	case r == utf8.RuneError && size == 1, unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return false
	case r == '\u200c', r == '\u200d', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return true
	}
	return !unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

func hex(b rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&0xf]})
}
