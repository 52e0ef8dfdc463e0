package jsonx

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrNotObject is returned for a text that is not a JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Members walks the members of a JSON object without decoding their values.
// It checks the structure of the top level only; values are delimited by their
// brackets and quotes, and a value's own errors surface when it is decoded.
type Members struct {
	data []byte
	pos  int
	n    int // members seen
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
	m.blanks()
	if m.peek() == '}' {
		m.pos++
		if m.blanks(); m.pos != len(m.data) {
			return nil, nil, m.bad("text after the object")
		}
		return nil, nil, nil
	}
	if m.n > 0 {
		if m.peek() != ',' {
			return nil, nil, m.bad("comma expected")
		}
		m.pos++
		m.blanks()
	}
	m.n++
	if name, err = m.name(); err != nil {
		return nil, nil, err
	}
	m.blanks()
	if m.peek() != ':' {
		return nil, nil, m.bad("colon expected")
	}
	m.pos++
	m.blanks()
	start := m.pos
	if err := m.skip(); err != nil {
		return nil, nil, err
	}
	return name, m.data[start:m.pos], nil
}

func (m *Members) name() ([]byte, error) {
	start := m.pos
	if err := m.text(); err != nil {
		return nil, err
	}
	quoted := m.data[start:m.pos]
	if bytes.IndexByte(quoted, '\\') < 0 {
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
		return m.text()
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

// nested moves past an object or array by counting brackets outside strings.
func (m *Members) nested() error {
	depth := 0
	for m.pos < len(m.data) {
		switch m.data[m.pos] {
		case '"':
			if err := m.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		m.pos++
		if depth == 0 {
			return nil
		}
	}
	return m.bad("unexpected end")
}

// text moves past a string.
func (m *Members) text() error {
	if m.peek() != '"' {
		return m.bad("string expected")
	}
	begin := m.pos + 1
	for i := begin; ; {
		n := bytes.IndexByte(m.data[i:], '"')
		if n < 0 {
			break
		}
		i += n + 1
		if !escaped(m.data[begin : i-1]) {
			m.pos = i
			return nil
		}
	}
	return m.bad("string without an end")
}

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

// maxID is how long an id may be. Those of the CLI have 36 characters; what is
// kept and logged for each request should not grow with what somebody writes.
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
