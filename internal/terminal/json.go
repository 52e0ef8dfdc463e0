package terminal

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a line of JSON with every character that Clean would show in the
// escapes of JSON. Its meaning stays the same: where JSON allows such characters
// at all, they are inside texts.
func JSON(line []byte) []byte {
	if firstUnsafe(string(line), isJSONSpace) < 0 {
		return line
	}
	var out []byte
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		switch high, low := utf16.EncodeRune(r); {
		case safe(r, size) || isJSONSpace(r):
			out = append(out, line[i:i+size]...)
		case high != utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += size
	}
	return out
}

// isJSONSpace reports whether JSON puts a control character between values.
func isJSONSpace(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }
