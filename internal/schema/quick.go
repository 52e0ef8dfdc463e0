package schema

import (
	"reflect"
	"slices"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/google/jsonschema-go/jsonschema"
)

// quick recognises most values that fit a simple schema, in one pass and without
// decoding them: a call of a tool is checked while a model waits, and the general
// check makes 40 allocations for two numbers. What it does not recognise may fit
// anyway. FuzzQuick holds the two together.
type quick struct {
	kinds      kinds // 0: any value fits
	properties map[string]property
	required   int  // how many of them must be there
	closed     bool // it has no others
	items      *quick
}

// property is one of an object.
type property struct {
	value    *quick
	required bool
}

// kinds are types of JSON values.
type kinds uint8

const (
	anObject kinds = 1 << iota
	anArray
	aString
	aNumber
	anInteger
	aBoolean
	aNull
)

// kindOf returns a type by its name in a schema, 0 for one that does not exist.
func kindOf(name string) kinds {
	switch name {
	case "object":
		return anObject
	case "array":
		return anArray
	case "string":
		return aString
	case "number":
		return aNumber
	case "integer":
		return anInteger
	case "boolean":
		return aBoolean
	case "null":
		return aNull
	}
	return 0
}

// newQuick returns the quick check of a schema, nil if it says anything that is
// not simple.
func newQuick(s *jsonschema.Schema) *quick {
	if !simple(s) {
		return nil
	}
	q := &quick{closed: s.AdditionalProperties != nil}
	for _, name := range slices.Concat(s.Types, []string{s.Type}) {
		if name == "" {
			continue
		}
		k := kindOf(name)
		if k == 0 {
			return nil
		}
		q.kinds |= k
	}
	if s.Items != nil {
		if q.items = newQuick(s.Items); q.items == nil {
			return nil
		}
	}
	q.properties = make(map[string]property, len(s.Properties))
	for name, value := range s.Properties {
		p := property{value: newQuick(value)}
		if p.value == nil {
			return nil
		}
		q.properties[name] = p
	}
	for _, name := range s.Required {
		p, ok := q.properties[name]
		if !ok || p.required {
			return nil
		}
		p.required = true
		q.properties[name] = p
		q.required++
	}
	return q
}

// simple reports whether a schema has nothing but what quick knows, and words for
// people. What the package of schemas may learn later is not simple.
func simple(s *jsonschema.Schema) bool {
	if s == nil || s.AdditionalProperties != nil && !reflect.DeepEqual(s.AdditionalProperties, falseSchema()) {
		return false
	}
	rest := *s
	rest.Type, rest.Types, rest.Properties, rest.Required, rest.Items, rest.AdditionalProperties = "", nil, nil, nil, nil, nil
	rest.Title, rest.Description, rest.PropertyOrder, rest.Schema = "", "", nil, ""
	return reflect.DeepEqual(rest, jsonschema.Schema{})
}

// fits reports whether a value fits for certain.
func (q *quick) fits(data []byte) bool {
	var s jsonx.Scanner
	s.Start(data)
	return q.value(&s) && s.End()
}

func (q *quick) value(s *jsonx.Scanner) bool {
	if q.kinds == 0 {
		return len(q.properties) == 0 && !q.closed && q.items == nil && plain(s)
	}
	switch c := s.Peek(); {
	case c == '{':
		return q.kinds&anObject != 0 && q.object(s)
	case c == '[':
		return q.kinds&anArray != 0 && q.array(s)
	case c == '"':
		return q.kinds&aString != 0 && s.Skip() != nil
	case c == 't' || c == 'f':
		return q.kinds&aBoolean != 0 && s.Skip() != nil
	case c == 'n':
		return q.kinds&aNull != 0 && s.Null()
	default:
		return q.number(s.Skip())
	}
}

// plain moves past a value that may be anything. It refuses numbers, and what they
// may be in: one that is too large for a float64 fits nothing.
func plain(s *jsonx.Scanner) bool {
	switch s.Peek() {
	case '"', 't', 'f', 'n':
		return s.Skip() != nil
	}
	return false
}

// number recognises a number without an exponent, and of a size that a float64
// can hold.
func (q *quick) number(text []byte) bool {
	fraction := false
	for i, c := range text {
		switch {
		case c == '.':
			fraction = true
		case (c < '0' || c > '9') && (c != '-' || i > 0):
			return false
		}
	}
	return len(text) > 0 && len(text) < 300 && (q.kinds&aNumber != 0 || q.kinds&anInteger != 0 && !fraction)
}

func (q *quick) object(s *jsonx.Scanner) bool {
	o, found := s.Object(), 0
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		p, known := q.properties[string(name)]
		switch {
		case !known && q.closed:
			return false
		case !known && !plain(s), known && !p.value.value(s):
			return false
		case p.required:
			found++
		}
	}
	return s.OK() && found == q.required // the scanner refuses a name that is there twice
}

func (q *quick) array(s *jsonx.Scanner) bool {
	s.Array()
	for n := 0; s.More(n); n++ {
		if q.items != nil && !q.items.value(s) || q.items == nil && !plain(s) {
			return false
		}
	}
	return s.OK()
}
