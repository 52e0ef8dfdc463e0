package jsonx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
)

// ErrNotObject is returned for a text that is not a JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Members walks the members of a JSON object without decoding their values.
// It checks the structure of the top level only; values are delimited by their
// brackets and quotes, and a value's own errors surface when it is decoded.
type Members struct {
	data  []byte
	pos   int
	n     int  // members or elements seen
	inner bool // it is a value of another one
}

// Walk starts at the opening brace of an object.
func Walk(data []byte) (Members, error) {
	m := Members{data: data}
	m.blanks()
	if m.peek() != '{' {
		return m, ErrNotObject
	}
	m.pos++
	return m, nil
}

// Next returns the next member: its name unescaped, its value as written.
// After the last one, and the end of the data behind it, name is nil.
func (m *Members) Next() (name, value []byte, err error) {
	if name, err = m.Name(); name == nil {
		return nil, nil, err
	}
	value, err = m.Value()
	if err != nil {
		return nil, nil, err
	}
	return name, value, nil
}

// Name returns the name of the next member, unescaped, or nil after the last
// one. The value must be read next, with Value, or member by member between
// Enter and Leave.
func (m *Members) Name() (name []byte, err error) {
	m.blanks()
	if m.peek() == '}' {
		m.pos++
		if m.inner {
			return nil, nil
		}
		if m.blanks(); m.pos != len(m.data) {
			return nil, m.bad("text after the object")
		}
		return nil, nil
	}
	if m.n > 0 {
		if m.peek() != ',' {
			return nil, m.bad("comma expected")
		}
		m.pos++
		m.blanks()
	}
	m.n++
	if name, err = m.name(); err != nil {
		return nil, err
	}
	m.blanks()
	if m.peek() != ':' {
		return nil, m.bad("colon expected")
	}
	m.pos++
	m.blanks()
	return name, nil
}

// Value returns the value that comes next, as written.
func (m *Members) Value() ([]byte, error) {
	start := m.pos
	if err := m.skip(); err != nil {
		return nil, err
	}
	return m.data[start:m.pos], nil
}

// Pos returns where in the data the value begins that comes next.
func (m *Members) Pos() int { return m.pos }

// ValueTo is Value for one whose end is known from another walk. It fails if no
// value can end there.
func (m *Members) ValueTo(end int) ([]byte, error) {
	if end <= m.pos || end >= len(m.data) || m.data[end] != ',' && m.data[end] != '}' {
		return nil, m.bad("value does not end where it should")
	}
	start := m.pos
	m.pos = end
	return m.data[start:end], nil
}

// Enter walks the object or array that comes next, in the same pass; open is
// its bracket. It reports false, and nothing was read, if something else comes.
// When the inner one has been read to its end, Leave continues behind it.
func (m *Members) Enter(open byte) (inner Members, ok bool) {
	if m.peek() != open {
		return Members{}, false
	}
	return Members{data: m.data, pos: m.pos + 1, inner: true}, true
}

// Leave continues behind an object or array that was entered.
func (m *Members) Leave(inner *Members) { m.pos = inner.pos }

// More reports whether another element of an array follows. It must be read
// next, with Value, or between Enter and Leave.
func (m *Members) More() (bool, error) {
	m.blanks()
	if m.peek() == ']' {
		m.pos++
		return false, nil
	}
	if m.n > 0 {
		if m.peek() != ',' {
			return false, m.bad("comma expected")
		}
		m.pos++
		m.blanks()
	}
	m.n++
	return true, nil
}

func (m *Members) name() ([]byte, error) {
	start := m.pos
	plain, err := m.text()
	if err != nil {
		return nil, err
	}
	quoted := m.data[start:m.pos]
	if plain {
		return quoted[1 : len(quoted)-1 : len(quoted)-1], nil
	}
	var s string
	if err := Unmarshal(quoted, &s); err != nil {
		return nil, m.bad("name cannot be read")
	}
	return append(make([]byte, 0, len(s)+1), s...), nil // never nil: nil is the end
}

// skip moves past one value.
func (m *Members) skip() error {
	switch m.peek() {
	case '"':
		_, err := m.text()
		return err
	case '{', '[':
		return m.nested()
	}
	start := m.pos
	for m.pos < len(m.data) && !delimiter(m.data[m.pos]) {
		m.pos++
	}
	if m.pos == start {
		return m.bad("value expected")
	}
	return nil
}

// nested moves past an object or array.
func (m *Members) nested() error {
	end, fault := closingBracket(m.data, m.pos)
	m.pos = end
	if fault != "" {
		return m.bad(fault)
	}
	return nil
}

// closingBracket finds the end of an object or array that begins at i by
// counting brackets outside strings. If there is none it returns what is wrong,
// and where.
func closingBracket(data []byte, i int) (end int, fault string) {
	depth := 0
	for i < len(data) {
		switch bracket[data[i]] {
		case quote:
			end, _ := closingQuote(data, i+1)
			if end < 0 {
				return i, "string without an end"
			}
			i = end
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i + 1, ""
			}
		}
		i++
	}
	return i, "unexpected end"
}

// What a character means outside strings for the end of an object or array.
const (
	quote = 1 + iota
	opening
	closing
)

var bracket = [256]byte{'"': quote, '{': opening, '[': opening, '}': closing, ']': closing}

// text moves past a string. It reports whether there are no escapes in it.
func (m *Members) text() (plain bool, err error) {
	if m.peek() != '"' {
		return false, m.bad("string expected")
	}
	end, plain := closingQuote(m.data, m.pos+1)
	if end < 0 {
		return false, m.bad("string without an end")
	}
	m.pos = end + 1
	return plain, nil
}

// closingQuote finds the end of a string from i on, -1 if there is none, and
// reports whether there are no escapes before it. The reader of the value checks
// the escapes.
func closingQuote(data []byte, i int) (end int, plain bool) {
	begin := i
	plain = true
	for i < len(data) {
		near := i + longRun
		for i+8 <= len(data) && i < near {
			w := binary.LittleEndian.Uint64(data[i:])
			mark := equalBytes(w, '"') | equalBytes(w, '\\')
			if mark == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(mark) / 8
			if data[i] == '"' {
				return i, plain
			}
			plain = false
			i += 2
			near = i + longRun // where one is escaped there are others
		}
		if i >= len(data) {
			break
		}
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			break
		}
		i += n
		if !escaped(data[begin:i]) {
			return i, plain && bytes.IndexByte(data[begin:i], '\\') < 0
		}
		plain = false
		i++
	}
	return -1, false
}

// longRun is from where on it pays to look for quotes only, as long as none of
// them is escaped.
const longRun = 64

// escaped reports whether what follows a piece of text is escaped by it: it
// ends with an odd number of backslashes.
func escaped(text []byte) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func (m *Members) blanks() {
	for m.pos < len(m.data) && blank(m.data[m.pos]) {
		m.pos++
	}
}

func (m *Members) peek() byte {
	if m.pos < len(m.data) {
		return m.data[m.pos]
	}
	return 0
}

func (m *Members) bad(what string) error {
	return fmt.Errorf("malformed JSON at byte %d: %s", m.pos, what)
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func delimiter(c byte) bool {
	return blank(c) || c == ',' || c == '}' || c == ']' || c == '{' || c == '[' || c == '"' || c == ':'
}

// Member returns the value of one member of an object, nil when there is none
// or the object cannot be read.
func Member(obj []byte, name string) []byte {
	m, err := Walk(obj)
	for err == nil {
		var k, v []byte
		if k, v, err = m.Next(); k == nil {
			return nil
		}
		if string(k) == name {
			return v
		}
	}
	return nil
}

// Text returns the value of a JSON string, "" for anything else.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	var s string
	if Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// Present reports whether a value is there and not null.
func Present(value []byte) bool { return len(value) > 0 && string(value) != "null" }

// maxID is how long an id may be. Those of the CLI have 36 characters; the memory
// and log lines of a request must not grow with text that a peer chooses.
const maxID = 1 << 10

// ID reports whether a value can be an id: a string or a number, and not an
// endless one.
func ID(value []byte) bool {
	if len(value) == 0 || len(value) > maxID {
		return false
	}
	c := value[0]
	return (c == '"' || c == '-' || c >= '0' && c <= '9') && Valid(value)
}

// Elements yields the elements of a JSON array as they are written. It yields
// none for anything else, and ends where the array cannot be read.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		m := Members{data: array}
		if m.blanks(); m.peek() != '[' {
			return
		}
		m.pos++
		for first := true; ; first = false {
			m.blanks()
			switch {
			case m.peek() == ']':
				return
			case !first && m.peek() != ',':
				return
			case !first:
				m.pos++
				m.blanks()
			}
			start := m.pos
			if m.skip() != nil || !yield(m.data[start:m.pos]) {
				return
			}
		}
	}
}
