package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema is a schema in an OpenAPI document, as far as it is used here. The zero value
// allows everything.
type Schema struct {
	Ref         string             `json:"$ref,omitzero"`
	Type        string             `json:"type,omitzero"`
	Format      string             `json:"format,omitzero"`
	Description string             `json:"description,omitzero"`
	Enum        []string           `json:"enum,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Items       *Schema            `json:"items,omitzero"`
	// Others describes members that are not among Properties: a schema, or false if
	// they are refused.
	Others any `json:"additionalProperties,omitzero"`
}

// Schemas are the schemas of a document, by name. Add the types of requests before
// those of replies. It is not safe for concurrent use.
type Schemas map[string]*Schema

// Request returns the schema of a type in a request. Unknown members are refused,
// unless the type decodes itself.
func (s Schemas) Request(t reflect.Type) (*Schema, error) { return s.of(t, true) }

// Reply returns the schema of a type in a reply. A later server may add members.
func (s Schemas) Reply(t reflect.Type) (*Schema, error) { return s.of(t, false) }

func (s Schemas) of(t reflect.Type, strict bool) (*Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return &Schema{Type: "string", Format: "date-time"}, nil
	case reflect.TypeFor[json.RawMessage]():
		return &Schema{}, nil
	}
	switch t.Kind() {
	case reflect.Interface:
		return &Schema{}, nil
	case reflect.Bool:
		return &Schema{Type: "boolean"}, nil
	case reflect.Int:
		return &Schema{Type: "integer"}, nil
	case reflect.Int64:
		return &Schema{Type: "integer", Format: "int64"}, nil
	case reflect.Float64:
		return &Schema{Type: "number", Format: "double"}, nil
	case reflect.String:
		return s.text(t)
	case reflect.Slice:
		items, err := s.of(t.Elem(), strict)
		return &Schema{Type: "array", Items: items}, err
	case reflect.Map:
		values, err := s.of(t.Elem(), strict)
		return &Schema{Type: "object", Others: values}, err
	case reflect.Struct:
		return s.object(t, strict)
	}
	return nil, fmt.Errorf("%v cannot be described", t)
}

// text returns the schema of a text. A type with constants is a schema of its own.
func (s Schemas) text(t reflect.Type) (*Schema, error) {
	words, err := Dictionary()
	known := words[t.Name()]
	if err != nil || len(known.Values) == 0 {
		return &Schema{Type: "string"}, err
	}
	one := &Schema{Type: "string", Description: known.About}
	for _, v := range known.Values {
		one.Enum = append(one.Enum, v.Value)
		if v.About != "" {
			one.Description += "\n- " + v.Value + ": " + v.About
		}
	}
	s[t.Name()] = one
	return refer(t.Name()), nil
}

func refer(name string) *Schema { return &Schema{Ref: "#/components/schemas/" + name} }

// object returns a reference to the schema of a struct, which it adds unless it is
// there.
func (s Schemas) object(t reflect.Type, strict bool) (*Schema, error) {
	name := schemaName(t)
	if _, ok := s[name]; ok {
		return refer(name), nil
	}
	words, err := Dictionary()
	if err != nil {
		return nil, err
	}
	one := &Schema{Type: "object", Description: words[t.Name()].About, Properties: make(map[string]*Schema)}
	if strings.Contains(t.Name(), "[") {
		one.Description = words[t.Name()[:strings.Index(t.Name(), "[")]].About
	}
	if _, open := reflect.New(t).Interface().(json.Unmarshaler); open {
		strict = false
	}
	if strict {
		one.Others = false
	}
	s[name] = one // before its members: they may refer to it
	return refer(name), s.members(one, t, strict, words)
}

// members adds the members of a struct to its schema, with those of embedded structs.
func (s Schemas) members(one *Schema, t reflect.Type, strict bool, words map[string]Words) error {
	outer, _, _ := strings.Cut(t.Name(), "[")
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			if err := s.members(one, f.Type, strict, words); err != nil {
				return err
			}
			continue
		case name == "-" || !f.IsExported():
			continue
		}
		member, err := s.of(f.Type, strict)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		member, err = s.limit(member, f)
		if err != nil {
			return err
		}
		member.Description = words[outer].Members[name]
		name = cmp.Or(name, f.Name)
		one.Properties[name] = member
		if !strings.Contains(options, "omit") {
			one.Required = append(one.Required, name)
		}
	}
	return nil
}

// limit applies the enum tag of a field. One that lists all values of its type adds
// nothing.
func (s Schemas) limit(member *Schema, f reflect.StructField) (*Schema, error) {
	tag := f.Tag.Get("enum")
	if tag == "" {
		return member, nil
	}
	values := strings.Split(tag, ",")
	if known := s[strings.TrimPrefix(member.Ref, "#/components/schemas/")]; known != nil && slices.Equal(slices.Sorted(slices.Values(known.Enum)), slices.Sorted(slices.Values(values))) {
		return member, nil
	}
	if f.Type.Kind() != reflect.String {
		return nil, fmt.Errorf("the enum of %s is not for a text", f.Name)
	}
	return &Schema{Type: "string", Enum: values}, nil
}

// schemaName returns the name of a type in the document: ConversationList for a list of
// conversations.
func schemaName(t reflect.Type) string {
	list, inner, ok := strings.Cut(t.Name(), "[")
	if !ok {
		return t.Name()
	}
	inner = strings.TrimSuffix(inner, "]")
	return inner[strings.LastIndex(inner, ".")+1:] + list
}
