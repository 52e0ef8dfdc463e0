package jsonx

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Text reads a string or null.
func (s *Scanner) Text() string {
	if s.Null() {
		return ""
	}
	begin := s.pos + 1
	end, c, ascii := s.run(begin)
	switch {
	case s.failed || s.byte() != '"':
		s.failed = true
		return ""
	case c == '\\':
		return s.unescape(begin, end, ascii)
	case c != '"' || !ascii && !utf8.Valid(s.data[begin:end]):
		s.failed = true
		return ""
	}
	s.pos = end + 1
	if s.text != "" {
		return s.text[begin:end]
	}
	return string(s.data[begin:end])
}

// Known is Text for a string that is most often one of a few, which then need
// not be made.
func (s *Scanner) Known(words ...string) string {
	if s.Peek() == '"' && !s.failed {
		rest := s.data[s.pos+1:]
		for _, word := range words {
			if n := len(word); n < len(rest) && rest[n] == '"' && string(rest[:n]) == word {
				s.pos += n + 2
				return word
			}
		}
	}
	return s.Text()
}

// Is reads a string and reports whether it is want, which needs no escapes.
func (s *Scanner) Is(want string) bool {
	s.Peek()
	begin := s.pos + 1
	if plain, ascii := s.string(); s.failed || !plain || !ascii {
		s.failed = true
		return false
	}
	return string(s.data[begin:s.pos-1]) == want
}

// The bytes of a word, for looking at eight characters at once.
const (
	eachOne  = 0x0101010101010101
	eachHigh = 0x8080808080808080
)

// has marks the bytes of w that are c. Above the first mark there may be false
// ones.
func has(w uint64, c byte) uint64 {
	x := w ^ eachOne*uint64(c)
	return (x - eachOne) &^ x & eachHigh
}

// run finds the next character from i on that does not mean itself: a quote, a
// backslash or a control character; 0 at the end of the data. It tells whether
// there is nothing but ASCII before it.
func (s *Scanner) run(i int) (end int, c byte, ascii bool) {
	var high uint64
	data := s.data
	for i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i:])
		low := (w - eachOne*0x20) &^ w & eachHigh // below a blank
		if mark := has(w, '"') | has(w, '\\') | low; mark != 0 {
			n := bits.TrailingZeros64(mark) / 8
			high |= w & (1<<(n*8) - 1)
			return i + n, data[i+n], high&eachHigh == 0
		}
		high |= w
		i += 8
	}
	for ; i < len(data); i++ {
		if c := data[i]; c < 0x20 || c == '"' || c == '\\' {
			return i, c, high&eachHigh == 0
		}
		high |= uint64(data[i])
	}
	return i, 0, false
}

// string moves past a string. It tells whether there are no escapes in it, and
// nothing but ASCII. Control characters are not allowed.
func (s *Scanner) string() (plain, ascii bool) {
	if s.failed || s.byte() != '"' {
		s.failed = true
		return false, false
	}
	plain, ascii = true, true
	for i := s.pos + 1; ; {
		end, c, only := s.run(i)
		ascii = ascii && only
		switch c {
		case '"':
			s.pos = end + 1
			return plain, ascii
		case '\\':
			plain = false
			i = min(end+2, len(s.data)) // what is escaped is looked at when it is unescaped
		default:
			s.failed = true
			return false, false
		}
	}
}

// special finds the next quote or backslash from i on; the end of the data, or
// a place behind it, if there is none.
func special(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if mark := has(w, '"') | has(w, '\\'); mark != 0 {
			return i + bits.TrailingZeros64(mark)/8
		}
	}
	for ; i < len(data); i++ {
		if data[i] == '"' || data[i] == '\\' {
			break
		}
	}
	return i
}

// unescape reads a string from its begin on, whose first escape is at i, with
// nothing but ASCII before it or not.
func (s *Scanner) unescape(begin, i int, ascii bool) string {
	var out strings.Builder
	out.Grow(s.likely(i) - begin)
	for {
		out.Write(s.data[begin:i])
		r, n := escape(s.data[i:])
		switch {
		case n == 0:
			s.failed = true
			return ""
		case n == 2: // of one byte
			out.WriteByte(byte(r))
		default:
			out.WriteRune(r)
		}
		begin = i + n
		end, c, only := s.run(begin)
		ascii = ascii && only
		switch c {
		case '"':
			out.Write(s.data[begin:end])
			if !ascii && !utf8.ValidString(out.String()) {
				s.failed = true
				return ""
			}
			s.pos = end + 1
			return out.String()
		case '\\':
			i = end
		default:
			s.failed = true
			return ""
		}
	}
}

// likely guesses where a string ends, so that it is allocated once: at the next
// quote that has no backslash before it.
func (s *Scanner) likely(i int) int {
	for {
		n := bytes.IndexByte(s.data[i:], '"')
		if n < 0 {
			return len(s.data)
		}
		if i += n; i == 0 || s.data[i-1] != '\\' {
			return i
		}
		i++
	}
}

// escapesSound reports whether all escapes of a string can be read, which
// stands there with its quotes.
func escapesSound(quoted []byte) bool {
	for i := special(quoted, 1); i < len(quoted)-1; i = special(quoted, i) {
		_, n := escape(quoted[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// escape reads the escape that text begins with, and how long it is; 0 for one
// that is no escape, or half of a pair.
func escape(text []byte) (r rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch text[1] {
	case '"', '\\', '/':
		return rune(text[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		return unicodeEscape(text)
	}
	return 0, 0
}

func unicodeEscape(text []byte) (r rune, n int) {
	first, ok := hex(text)
	if !ok {
		return 0, 0
	}
	if first < 0xd800 || first > 0xdfff {
		return first, 6
	}
	if first >= 0xdc00 || len(text) < 12 || text[6] != '\\' || text[7] != 'u' {
		return 0, 0
	}
	second, ok := hex(text[6:])
	if !ok || second < 0xdc00 || second > 0xdfff {
		return 0, 0
	}
	return (first-0xd800)<<10 | (second - 0xdc00) + 0x10000, 12
}

// hex reads the digits of an escape such as \u00e9.
func hex(text []byte) (r rune, ok bool) {
	if len(text) < 6 {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
