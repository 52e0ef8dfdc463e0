package schema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	numberType   = reflect.TypeFor[json.Number]()

	describedType = reflect.TypeFor[interface{ JSONSchema() json.RawMessage }]()
	decoderType   = reflect.TypeFor[json.Unmarshaler]()
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// inference is the work on one type.
type inference struct {
	open        map[reflect.Type]bool   // named types that are being looked at
	names       map[reflect.Type]string // definitions that are referred to
	taken       map[string]bool
	definitions map[string]*jsonschema.Schema
	own         map[reflect.Type]*jsonschema.Schema // of types that describe themselves
}

func infer(t reflect.Type) (*jsonschema.Schema, error) {
	in := &inference{
		open:        make(map[reflect.Type]bool),
		names:       make(map[reflect.Type]string),
		taken:       make(map[string]bool),
		definitions: make(map[string]*jsonschema.Schema),
		own:         make(map[reflect.Type]*jsonschema.Schema),
	}
	root, err := in.root(t)
	if err != nil {
		return nil, fmt.Errorf("JSON Schema of %v: %w", t, err)
	}
	if len(in.definitions) > 0 {
		root.Definitions = in.definitions
	}
	return root, nil
}

// root returns the schema of the whole. It is spelt out: what reads it looks
// for its type, not for a reference.
func (in *inference) root(t reflect.Type) (*jsonschema.Schema, error) {
	t, err := dereference(t)
	if err != nil {
		return nil, err
	}
	s, err := in.schema(t)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(in.definitions)) {
		if _, err := in.resolveRef(in.definitions[name]); err != nil {
			return nil, err
		}
	}
	target, err := in.resolveRef(s)
	switch {
	case err != nil:
		return nil, err
	case target.Ref != "":
		return nil, fmt.Errorf("%q is not a definition", target.Ref)
	case target == s:
		return s, nil
	}
	return target.CloneSchemas(), nil
}

// resolveRef follows a chain of references to its end, which may be a reference
// into a definition.
func (in *inference) resolveRef(s *jsonschema.Schema) (*jsonschema.Schema, error) {
	first := s.Ref
	for range len(in.definitions) + 1 {
		target := in.definitions[strings.TrimPrefix(s.Ref, definitionPath)]
		if target == nil {
			return s, nil
		}
		s = target
	}
	return nil, fmt.Errorf("%q is nothing but itself", first)
}

// dereference follows a chain of pointers to its value.
func dereference(t reflect.Type) (reflect.Type, error) {
	seen := make(map[reflect.Type]bool)
	for at := t; ; at = at.Elem() {
		switch {
		case at.Kind() != reflect.Pointer:
			return at, nil
		case seen[at]:
			return nil, fmt.Errorf("%v points to nothing but itself", t)
		}
		seen[at] = true
	}
}

const definitionPath = "#/definitions/"

// hasOwnSchema reports whether a type has a schema of its own. A pointer has that
// of its element.
func hasOwnSchema(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(describedType)
}

// schema returns the schema of a type; a named type that contains itself is
// moved to the definitions and referred to.
func (in *inference) schema(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Name() == "" {
		return in.build(t)
	}
	if in.open[t] {
		return &jsonschema.Schema{Ref: definitionPath + in.name(t)}, nil
	}
	if name, ok := in.names[t]; ok {
		return &jsonschema.Schema{Ref: definitionPath + name}, nil
	}
	in.open[t] = true
	s, err := in.build(t)
	delete(in.open, t)
	if err != nil {
		return nil, err
	}
	if name, recursive := in.names[t]; recursive {
		in.definitions[name] = s
		return &jsonschema.Schema{Ref: definitionPath + name}, nil
	}
	return s, nil
}

// name returns the name of a definition. Types of the same name in different
// packages get different ones.
func (in *inference) name(t reflect.Type) string {
	if name, ok := in.names[t]; ok {
		return name
	}
	name := in.uniqueName(t.Name())
	in.names[t] = name
	return name
}

// uniqueName returns a name like the wanted one that no definition has.
func (in *inference) uniqueName(wanted string) string {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_' // of type parameters
	}, wanted)
	name := base
	for i := 2; in.taken[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	in.taken[name] = true
	return name
}

// timePattern matches the texts that time.Time decodes.
const timePattern = `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`

func (in *inference) build(t reflect.Type) (*jsonschema.Schema, error) {
	if hasOwnSchema(t) {
		return in.embedOwnSchema(t)
	}
	switch t {
	case timeType:
		// Not the format date-time: CLIs up to 2.1.0 know no formats, and offer
		// the model no way to answer by a schema that has one.
		return &jsonschema.Schema{Type: "string", Description: "a time by RFC 3339, such as 2006-01-02T15:04:05Z", Pattern: timePattern}, nil
	case durationType:
		return &jsonschema.Schema{Type: "integer", Description: "a duration in nanoseconds"}, nil
	case rawType:
		return &jsonschema.Schema{}, nil
	case numberType:
		return &jsonschema.Schema{Type: "number"}, nil
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		switch pointer := reflect.PointerTo(t); {
		case pointer.Implements(decoderType):
			return &jsonschema.Schema{}, nil
		case pointer.Implements(textType):
			return &jsonschema.Schema{Type: "string"}, nil
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return integer(t), nil
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, nil
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, nil
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil, fmt.Errorf("%v is an interface with methods, which nothing can be decoded into", t)
		}
		return &jsonschema.Schema{}, nil
	case reflect.Pointer:
		if _, err := dereference(t); err != nil {
			return nil, err
		}
		s, err := in.schema(t.Elem())
		if err != nil {
			return nil, err
		}
		return nullable(s), nil
	case reflect.Slice, reflect.Array:
		return in.list(t)
	case reflect.Map:
		return in.dictionary(t)
	case reflect.Struct:
		return in.object(t)
	}
	return nil, fmt.Errorf("%v cannot be JSON", t)
}

// integer returns the schema of an integer, with its bounds as far as all
// readers of JSON can write them exactly.
func integer(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "integer"}
	bits := t.Bits()
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		s.Minimum, s.Maximum = new(-math.Ldexp(1, bits-1)), new(math.Ldexp(1, bits-1)-1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		s.Minimum, s.Maximum = new(float64), new(math.Ldexp(1, bits)-1)
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		s.Minimum = new(float64)
	}
	return s
}

func (in *inference) list(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !reflect.PointerTo(t.Elem()).Implements(decoderType) {
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}, nil
	}
	items, err := in.schema(t.Elem())
	if err != nil {
		return nil, fmt.Errorf("elements: %w", err)
	}
	s := &jsonschema.Schema{Type: "array", Items: items}
	if t.Kind() == reflect.Array {
		s.MinItems, s.MaxItems = new(t.Len()), new(t.Len())
	}
	return s, nil
}

func (in *inference) dictionary(t reflect.Type) (*jsonschema.Schema, error) {
	switch t.Key().Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
	default:
		if !reflect.PointerTo(t.Key()).Implements(textType) {
			return nil, fmt.Errorf("%v has keys that cannot be text", t)
		}
	}
	values, err := in.schema(t.Elem())
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	s := &jsonschema.Schema{Type: "object"}
	if !isEmpty(values) {
		s.AdditionalProperties = values
	}
	return s, nil
}

func (in *inference) object(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           make(map[string]*jsonschema.Schema),
		AdditionalProperties: falseSchema(),
	}
	for _, f := range fields(t) {
		property, err := in.property(f)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		s.Properties[f.name] = property
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if !f.optional {
			s.Required = append(s.Required, f.name)
		}
	}
	return s, nil
}

func (in *inference) property(f field) (*jsonschema.Schema, error) {
	s, err := in.schema(f.Type)
	if err != nil {
		return nil, err
	}
	if f.quoted {
		if s, err = quoted(f.Type, s); err != nil {
			return nil, err
		}
	}
	if values := f.Tag.Get("enum"); values != "" {
		if err := enumerate(s, strings.Split(values, ",")); err != nil {
			return nil, err
		}
	}
	if text := f.Tag.Get("jsonschema"); text != "" {
		if s.Ref != "" { // draft-07 ignores what stands beside a reference
			s = &jsonschema.Schema{AllOf: []*jsonschema.Schema{s}}
		}
		s.Description = text
	}
	return s, nil
}

// quoted returns the schema of a field with the option "string", which
// encoding/json obeys for scalars and for pointers to them.
func quoted(t reflect.Type, s *jsonschema.Schema) (*jsonschema.Schema, error) {
	scalar := t
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		scalar = t.Elem()
	}
	switch scalar.Kind() {
	case reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
	case reflect.String:
		if scalar != numberType {
			return nil, errors.New(`the option "string" makes a text one that holds a text in quotes, which no model writes`)
		}
	default:
		return s, nil // encoding/json ignores it
	}
	if pointer := reflect.PointerTo(scalar); hasOwnSchema(scalar) || pointer.Implements(decoderType) || pointer.Implements(textType) {
		return nil, fmt.Errorf(`the option "string" is for plain values, and %v has methods of its own`, scalar)
	}
	text := &jsonschema.Schema{Type: "string", Description: s.Description}
	if scalar != t {
		return nullable(text), nil
	}
	return text, nil
}

// enumerate limits a schema to the values of an enum tag; those of a list mean
// its elements.
func enumerate(s *jsonschema.Schema, values []string) error {
	kinds := s.Types
	if s.Type != "" {
		kinds = []string{s.Type}
	}
	if len(kinds) == 0 {
		return errors.New("an enum tag needs a text or a number")
	}
	switch kinds[0] {
	case "array":
		return enumerate(s.Items, values)
	case "string", "integer", "number":
	default:
		return errors.New("an enum tag needs a text or a number")
	}
	for _, value := range values {
		value = strings.TrimSpace(value)
		if kinds[0] == "string" {
			s.Enum = append(s.Enum, value)
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("enum value %q is not a number", value)
		}
		s.Enum = append(s.Enum, n)
	}
	if len(kinds) > 1 {
		s.Enum = append(s.Enum, nil)
	}
	return nil
}

// nullable returns a schema that null fits too.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case isEmpty(s):
		return s
	case s.Type != "" && s.Enum == nil && s.Const == nil:
		s.Types, s.Type = []string{s.Type, "null"}, ""
		return s
	case len(s.Types) > 0 && s.Enum == nil && s.Const == nil:
		return s // a pointer to a pointer
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}
