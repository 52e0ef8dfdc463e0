package jsonx

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
)

// Bounds of a Scanner. Anything beyond them is left to Unmarshal.
const (
	scanNames = 64 // names of all objects that are open
	scanDepth = 64
	scanSize  = 1 << 30
)

// Short texts of one input share an allocation. It is small, because anyone who
// keeps one of them keeps all.
const (
	shortText  = 96
	shortTexts = 256
)

// Scanner reads JSON whose shape is known, in one pass and almost without
// allocating. It is strict: whatever is unusual, sound or not, makes it fail,
// and the caller starts again with [Unmarshal]. So it need not know what a
// mismatch means, and what it accepts Unmarshal accepts too: repeated names,
// names that differ only in case, broken UTF-8 and stray characters are among
// the unusual.
//
// Methods of a Scanner that has failed return zero values; see OK. Texts that
// they return are copies.
type Scanner struct {
	data   []byte
	short  strings.Builder // short texts, one after the other
	pos    int
	failed bool
	depth  int
	names  [scanNames]span // those of the open objects, one after the other
	count  int
	codes  bool // Skip has passed an escape such as \u2028
}

// span is a place in the data.
type span struct{ begin, end int32 }

// Object is an object that is being read.
type Object struct {
	base  int    // of its names
	begun bool   // a member was read
	seen  uint64 // a rough hash of the names, to tell most new ones at once
}

// Start sets a Scanner to the beginning of data.
func (s *Scanner) Start(data []byte) {
	s.data, s.pos, s.depth, s.count = data, 0, 0, 0
	s.failed, s.codes = len(data) > scanSize, false
}

// Fail gives up.
func (s *Scanner) Fail() { s.failed = true }

// OK reports whether everything went well so far.
func (s *Scanner) OK() bool { return !s.failed }

// SkippedCodes reports whether Skip has passed a character that is written as its
// number, as \u2028 is.
func (s *Scanner) SkippedCodes() bool { return s.codes }

// End reports whether everything went well and nothing is left.
func (s *Scanner) End() bool {
	s.Peek()
	return !s.failed && s.pos == len(s.data)
}

// Peek returns the first byte of what comes next, 0 at the end.
func (s *Scanner) Peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	return s.peekSlow()
}

// peekSlow is Peek where there are blanks, or the end.
func (s *Scanner) peekSlow() byte {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if !blank(c) {
			return c
		}
		s.pos++
	}
	return 0
}

// take reads one byte that must be c.
func (s *Scanner) take(c byte) bool {
	if s.Peek() != c || s.failed {
		s.failed = true
		return false
	}
	s.pos++
	return true
}

// Object begins an object.
func (s *Scanner) Object() Object {
	s.take('{')
	return Object{base: s.count}
}

// Next returns the name of the next member, whose value is to be read next;
// nil at the end of the object.
func (s *Scanner) Next(o *Object) (name []byte) {
	data, i := s.data, s.pos
	if s.failed {
		return nil
	}
	if o.begun && i < len(data) && data[i] == ',' {
		i++
	}
	if i+8 >= len(data) || data[i] != '"' || i == s.pos && o.begun {
		return s.nextSlow(o)
	}
	begin := i + 1
	for i = begin; i+8 < len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if mark := specialBytes(w) | w&eachHigh; mark != 0 {
			i += bits.TrailingZeros64(mark) / 8
			break
		}
	}
	if i+1 >= len(data) || data[i] != '"' || data[i+1] != ':' {
		return s.nextSlow(o)
	}
	o.begun = true
	s.pos = i + 2
	name = data[begin:i]
	s.addName(o, begin, name)
	return name
}

// nextSlow is Next where there are blanks, or the end of the object or of the
// data is near.
func (s *Scanner) nextSlow(o *Object) (name []byte) {
	c := s.Peek()
	if c == '}' {
		s.pos++
		s.count = o.base
		return nil
	}
	if o.begun {
		if c != ',' {
			s.failed = true
			return nil
		}
		s.pos++
		c = s.Peek()
	}
	o.begun = true
	if c != '"' {
		s.failed = true
		return nil
	}
	begin := s.pos + 1
	end, c, ascii := plainRun(s.data, begin)
	if c != '"' || !ascii {
		s.failed = true
		return nil
	}
	name = s.data[begin:end]
	s.pos = end + 1
	s.addName(o, begin, name)
	if !s.take(':') {
		return nil
	}
	return name
}

// addName keeps a name and fails if the object has it already, or one that differs
// only in case.
func (s *Scanner) addName(o *Object, begin int, name []byte) {
	if s.count == len(s.names) {
		s.failed = true
		return
	}
	hash := uint64(len(name))
	if len(name) > 0 {
		hash = hash*31 + uint64(name[0]|0x20)*7 + uint64(name[len(name)-1]|0x20)*3 + uint64(name[len(name)/2]|0x20)
	}
	bit := uint64(1) << (hash % 64)
	if o.seen&bit != 0 {
		for _, n := range s.names[o.base:s.count] {
			if sameName(s.data[n.begin:n.end], name) {
				s.failed = true
				return
			}
		}
	}
	o.seen |= bit
	s.names[s.count] = span{int32(begin), int32(begin + len(name))}
	s.count++
}

// sameName reports whether two names of ASCII are the same but for the case of
// letters.
func sameName(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if d := b[i]; c != d && (c^d != 0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Array begins an array.
func (s *Scanner) Array() { s.take('[') }

// More reports whether another element of an array follows; n is how many
// were read.
func (s *Scanner) More(n int) bool {
	switch {
	case s.Peek() == ']':
		s.pos++
		return false
	case n > 0 && (!s.take(',') || s.Peek() == ']'):
		s.failed = true
	}
	return !s.failed
}

// Null reads a null, if one comes next.
func (s *Scanner) Null() bool { return s.Peek() == 'n' && s.literal("null") }

// Bool reads true, false or null.
func (s *Scanner) Bool() bool {
	switch s.Peek() {
	case 't':
		return s.literal("true")
	case 'f':
		s.literal("false")
		return false
	}
	if !s.Null() {
		s.failed = true
	}
	return false
}

// literal reads a word. Whatever follows must be able to follow a value.
func (s *Scanner) literal(word string) bool {
	if end := s.pos + len(word); !s.failed && end <= len(s.data) && string(s.data[s.pos:end]) == word {
		s.pos = end
		return true
	}
	s.failed = true
	return false
}

// plainInt reads a whole number that is written plainly: up to nine digits, and
// what follows a member.
func (s *Scanner) plainInt() (n int, ok bool) {
	i := s.pos
	for ; i < len(s.data) && i-s.pos < 9 && s.data[i]-'0' <= 9; i++ {
		n = n*10 + int(s.data[i]-'0')
	}
	if s.failed || i == s.pos || i == len(s.data) || s.data[i] != ',' && s.data[i] != '}' || s.data[s.pos] == '0' && i > s.pos+1 {
		return 0, false
	}
	s.pos = i
	return n, true
}

// Int reads a whole number or null.
func (s *Scanner) Int() int {
	if n, ok := s.plainInt(); ok {
		return n
	}
	if s.Null() {
		return 0
	}
	value := s.number()
	negative := len(value) > 0 && value[0] == '-'
	if negative {
		value = value[1:]
	}
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			s.failed = true
			return 0
		}
		n = n*10 + int(c-'0')
	}
	if len(value) > 9 { // more than an int of 32 bits may hold
		s.failed = true
	}
	if negative {
		return -n
	}
	return n
}

// Float reads a number or null.
func (s *Scanner) Float() float64 {
	if s.Null() {
		return 0
	}
	f, err := strconv.ParseFloat(string(s.number()), 64)
	if err != nil {
		s.failed = true
		return 0
	}
	return f
}

// number reads a number as JSON has them.
func (s *Scanner) number() []byte {
	s.Peek()
	begin := s.pos
	if s.byte() == '-' {
		s.pos++
	}
	if s.byte() == '0' {
		s.pos++
	} else {
		s.digits()
	}
	if s.byte() == '.' {
		s.pos++
		s.digits()
	}
	if s.byte()|0x20 == 'e' {
		s.pos++
		if c := s.byte(); c == '+' || c == '-' {
			s.pos++
		}
		s.digits()
	}
	if s.failed {
		return nil
	}
	return s.data[begin:s.pos]
}

func (s *Scanner) byte() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// digits reads one digit or more.
func (s *Scanner) digits() {
	begin := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	if s.pos == begin {
		s.failed = true
	}
}

// Mark returns the place where the next value begins, for Since.
func (s *Scanner) Mark() int {
	s.Peek()
	return s.pos
}

// Since returns the bytes that were read from a mark on, unchanged.
func (s *Scanner) Since(mark int) []byte { return s.data[mark:s.pos:s.pos] }

// Skip reads any value and returns its bytes unchanged.
func (s *Scanner) Skip() []byte {
	c := s.Peek()
	begin := s.pos
	switch c {
	case '"':
		s.skipText()
	case '{':
		if s.depth++; s.depth > scanDepth {
			s.failed = true
			return nil
		}
		o := s.Object()
		for s.Next(&o) != nil {
			s.Skip()
		}
		s.depth--
	case '[':
		if s.depth++; s.depth > scanDepth {
			s.failed = true
			return nil
		}
		s.Array()
		for n := 0; s.More(n); n++ {
			s.Skip()
		}
		s.depth--
	case 't', 'f', 'n':
		s.Bool()
	default:
		s.number()
	}
	if s.failed {
		return nil
	}
	return s.data[begin:s.pos:s.pos]
}
