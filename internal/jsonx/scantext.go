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
	if s.Peek() != '"' || s.failed {
		if !s.Null() {
			s.failed = true
		}
		return ""
	}
	begin := s.pos + 1
	end, c, ascii := plainRun(s.data, begin)
	switch {
	case c == '\\':
		return s.unescape(begin)
	case c != '"' || !ascii && !utf8.Valid(s.data[begin:end]):
		s.failed = true
		return ""
	}
	s.pos = end + 1
	return s.keep(s.data[begin:end])
}

// keep returns a copy of a text.
func (s *Scanner) keep(text []byte) string {
	if len(text) > shortText || len(text) == 0 {
		return string(text)
	}
	if s.short.Cap()-s.short.Len() < len(text) {
		s.short.Reset() // what was given out keeps the old place
		s.short.Grow(min(len(text)+len(s.data)-s.pos, shortTexts))
	}
	begin := s.short.Len()
	s.short.Write(text)
	return s.short.String()[begin:]
}

// KnownText is Text for a string that is most often one of a few, which then need
// not be made.
func (s *Scanner) KnownText(words ...string) string {
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

// TextIs reads a string and reports whether it is want, which needs no escapes.
func (s *Scanner) TextIs(want string) bool {
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

// equalBytes marks the bytes of w that are c. Above the first mark there may be false
// ones.
func equalBytes(w uint64, c byte) uint64 {
	x := w ^ eachOne*uint64(c)
	return (x - eachOne) &^ x & eachHigh
}

// specialBytes marks the bytes of w that do not mean themselves in a string: quotes,
// backslashes and control characters. Above the first mark there may be false
// ones. With its second bit turned, a quote follows the control characters, so
// that one comparison finds them all.
func specialBytes(w uint64) uint64 {
	below := (w ^ eachOne*0x02) - eachOne*0x21
	escapes := (w ^ eachOne*'\\') - eachOne
	return (below | escapes) &^ w & eachHigh
}

// plainRun finds the next character from i on that does not mean itself: a quote, a
// backslash or a control character; 0 at the end of the data. It reports whether
// there is nothing but ASCII before it.
func plainRun(data []byte, i int) (end int, c byte, ascii bool) {
	var high uint64
	for i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i : i+8])
		if mark := specialBytes(w); mark != 0 {
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

// string moves past a string. It reports whether there are no escapes in it, and
// nothing but ASCII. Control characters are not allowed.
func (s *Scanner) string() (plain, ascii bool) {
	if s.failed || s.byte() != '"' {
		s.failed = true
		return false, false
	}
	plain, ascii = true, true
	for i := s.pos + 1; ; {
		end, c, only := plainRun(s.data, i)
		ascii = ascii && only
		switch c {
		case '"':
			s.pos = end + 1
			return plain, ascii
		case '\\':
			plain = false
			i = min(end+2, len(s.data)) // escapes are checked when they are decoded
		default:
			s.failed = true
			return false, false
		}
	}
}

// skipText moves past a string whose escapes and characters must be sound.
func (s *Scanner) skipText() {
	data := s.data
	var high uint64
	for i := s.pos + 1; ; {
		if i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i : i+8])
			high |= w // what comes behind a mark does no harm
			mark := specialBytes(w)
			if mark == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(mark) / 8
		} else if i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= 0x20 {
			high |= uint64(data[i])
			i++
			continue
		}
		switch {
		case i < len(data) && data[i] == '"':
			s.failed = s.failed || high&eachHigh != 0 && !utf8.Valid(data[s.pos:i])
			s.pos = i + 1
			return
		case i+1 < len(data) && data[i] == '\\' && simpleEscapes[data[i+1]] != 0:
			i += 2
		default:
			_, n := escape(data[min(i, len(data)):])
			if n == 0 {
				s.failed = true
				return
			}
			s.codes = true
			i += n
		}
	}
}

// unescape reads a string with escapes, from its begin on, a page at a time.
func (s *Scanner) unescape(begin int) string {
	var p textBuffer
	var long strings.Builder // for what does not fit on a page
	ascii := true
	for i := begin; ; {
		end, only := p.fill(s.data, i)
		ascii = ascii && only
		if end < 0 {
			s.failed = true
			return ""
		}
		if p.done {
			s.pos = end
			break
		}
		if long.Len() == 0 {
			long.Grow(p.n + s.guessEnd(end) - end)
		}
		long.Write(p.text[:p.n])
		i = end
	}
	if long.Len() == 0 {
		if !ascii && !utf8.Valid(p.text[:p.n]) {
			s.failed = true
			return ""
		}
		return s.keep(p.text[:p.n])
	}
	long.Write(p.text[:p.n])
	if !ascii && !utf8.ValidString(long.String()) {
		s.failed = true
		return ""
	}
	return long.String()
}

// textBuffer holds a piece of a text whose escapes are resolved.
type textBuffer struct {
	text [1 << 11]byte
	n    int  // how much of it
	done bool // the closing quote was read
}

// fill resolves the escapes of data from i on until the page is full, and
// returns how far that was; -1 if the text cannot be read. It moves eight
// characters at a time to the page, whether they mean themselves or not, and
// then looks how far they did.
func (p *textBuffer) fill(data []byte, i int) (end int, ascii bool) {
	var high uint64
	n := 0
	for n <= len(p.text)-16 {
		if i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i : i+8])
			binary.LittleEndian.PutUint64(p.text[n:], w)
			mark := specialBytes(w)
			if mark == 0 {
				high |= w
				i, n = i+8, n+8
				continue
			}
			plain := bits.TrailingZeros64(mark) / 8
			high |= w & (1<<(plain*8) - 1)
			i, n = i+plain, n+plain
		} else if i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= 0x20 {
			high |= uint64(data[i])
			p.text[n] = data[i]
			i, n = i+1, n+1
			continue
		}
		switch {
		case i < len(data) && data[i] == '"':
			p.n, p.done = n, true
			return i + 1, high&eachHigh == 0
		case i+1 < len(data) && data[i] == '\\' && simpleEscapes[data[i+1]] != 0:
			p.text[n] = simpleEscapes[data[i+1]]
			i, n = i+2, n+1
		default:
			r, size := escape(data[min(i, len(data)):])
			if size == 0 {
				return -1, false
			}
			n += utf8.EncodeRune(p.text[n:], r)
			i += size
		}
	}
	p.n = n
	return i, high&eachHigh == 0
}

// simpleEscapes holds what the escapes of two characters mean.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// guessEnd guesses where a string ends, so that it is allocated once: at the next
// quote that has no backslash before it.
func (s *Scanner) guessEnd(i int) int {
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

// escape reads the escape that text begins with, and how long it is; 0 for one
// that is not an escape, or half of a pair.
func escape(text []byte) (r rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	if c := simpleEscapes[text[1]]; text[0] == '\\' && c != 0 {
		return rune(c), 2
	}
	if text[0] == '\\' && text[1] == 'u' {
		return unicodeEscape(text)
	}
	return 0, 0
}

func unicodeEscape(text []byte) (r rune, n int) {
	first, ok := hexDigits(text)
	if !ok {
		return 0, 0
	}
	if first < 0xd800 || first > 0xdfff {
		return first, 6
	}
	if first >= 0xdc00 || len(text) < 12 || text[6] != '\\' || text[7] != 'u' {
		return 0, 0
	}
	second, ok := hexDigits(text[6:])
	if !ok || second < 0xdc00 || second > 0xdfff {
		return 0, 0
	}
	return (first-0xd800)<<10 | (second - 0xdc00) + 0x10000, 12
}

// hexDigits reads the digits of an escape such as \u00e9.
func hexDigits(text []byte) (r rune, ok bool) {
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
