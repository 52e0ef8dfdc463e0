package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the protocol uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       types              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	Const      any                `json:"const"`
	Title      string             `json:"title"`
	AllOf      []*schema          `json:"allOf"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Internal   bool               `json:"x-docs-ignore"`
	Side       string             `json:"x-side"`
	Method     string             `json:"x-method"`
}

// types is one type or a list of them.
type types []string

// UnmarshalJSON accepts both forms.
func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// only returns the type that is not null.
func (t types) only() string {
	for _, name := range t {
		if name != "null" {
			return name
		}
	}
	return ""
}

// choices returns the members of a union.
func (s *schema) choices() []*schema { return append(slices.Clone(s.OneOf), s.AnyOf...) }

// target returns the name of the definition that a schema stands for, "" if it
// is written out, and whether null is also allowed.
func (s *schema) target() (name string, nullable bool) {
	nullable = slices.Contains(s.Type, "null")
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:], nullable
	}
	if len(s.AllOf) == 1 && s.Properties == nil {
		name, _ = s.AllOf[0].target()
		return name, nullable
	}
	if rest := slices.DeleteFunc(s.choices(), (*schema).isNull); len(rest) == 1 && s.Properties == nil {
		name, _ = rest[0].target()
		return name, len(rest) < len(s.choices())
	}
	return "", nullable
}

func (s *schema) isNull() bool { return slices.Equal(s.Type, types{"null"}) }

// tag returns the member with a constant that distinguishes a choice.
func (s *schema) tag() (member, value string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if text, ok := s.Properties[name].Const.(string); ok {
			return name, text
		}
	}
	return "", ""
}

// isOpen reports whether a choice is "anything else", which a reader of a union
// keeps without a type.
func (s *schema) isOpen() bool { return s.Title == "other" }

// kind is the Go declaration that a definition becomes.
type kind int

const (
	object  kind = iota // a struct
	union               // a struct with one pointer for each choice
	merged              // a struct with the members of all choices
	word                // a string with constants
	number              // an integer with constants
	untyped             // raw JSON
)

func (s *schema) kind(defs map[string]*schema) kind {
	choices := s.choices()
	switch {
	case len(choices) == 0 && s.Type.only() == "string":
		return word
	case len(choices) == 0 && s.Type.only() == "integer":
		return number
	case len(choices) == 0 && (s.Properties != nil || s.Type.only() == "object"):
		return object
	case len(choices) == 0:
		return untyped
	case every(choices, func(c *schema) bool { return c.Type.only() == "string" }):
		return word
	case every(choices, func(c *schema) bool { return c.Type.only() == "integer" }):
		return number
	case !every(choices, func(c *schema) bool { return c.isObject(defs) }):
		return untyped
	case s.Properties == nil && slices.ContainsFunc(choices, func(c *schema) bool { _, v := c.tag(); return v != "" }):
		return union
	}
	return merged
}

func (s *schema) isObject(defs map[string]*schema) bool {
	if name, _ := s.target(); name != "" {
		return defs[name].isObject(defs)
	}
	return s.Type.only() == "object" || s.Properties != nil
}

func every(list []*schema, ok func(*schema) bool) bool {
	return !slices.ContainsFunc(list, func(s *schema) bool { return !ok(s) })
}

// field is a member of a struct.
type field struct {
	json     string
	schema   *schema
	required bool
}

// fields returns the members of an object, and those of all its choices as
// optional ones. Members that differ between choices become raw JSON.
func (s *schema) fields(defs map[string]*schema) ([]field, error) {
	all := make(map[string]field)
	if err := s.collect(defs, all, true); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(all), func(a, b field) int {
		return strings.Compare(a.json, b.json)
	}), nil
}

func (s *schema) collect(defs map[string]*schema, all map[string]field, own bool) error {
	for name, p := range s.Properties {
		f := field{name, p, own && slices.Contains(s.Required, name)}
		switch before, ok := all[name]; {
		case ok && !same(before.schema, p):
			f.schema = new(schema)
		case ok && before.schema.Const != nil:
			f.schema = before.schema // a word that distinguishes choices is never absent
		}
		all[name] = f
	}
	for _, part := range slices.Concat(s.AllOf, s.choices()) {
		to := part
		if name, _ := part.target(); name != "" {
			if to = defs[name]; to == nil {
				return fmt.Errorf("no definition of %s", name)
			}
		}
		if err := to.collect(defs, all, false); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two choices mean the same kind of value by a member.
func same(a, b *schema) bool {
	nameA, _ := a.target()
	nameB, _ := b.target()
	return nameA == nameB && slices.Equal(a.Type, b.Type)
}
