// Package form reads the forms in which MCP servers ask people something: a flat
// object of texts, numbers, switches and choices.
package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
)

// Field is one field of a form.
type Field struct {
	Name     string          `json:"-"`
	Required bool            `json:"-"`
	Schema   json.RawMessage `json:"-"`

	Type        string          `json:"type"`
	Format      string          `json:"format"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	selection
	// Items describes the elements of a list of choices.
	Items selection `json:"items"`
}

// selection is a set of texts to choose from, in one of three ways to write it.
type selection struct {
	Enum      []string `json:"enum"`
	EnumNames []string `json:"enumNames"`
	OneOf     []Option `json:"oneOf"`
	AnyOf     []Option `json:"anyOf"`
}

// Option is a possible choice, and its name for people.
type Option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// Fields returns the fields of a form, first in the order that the CLI gives.
// If a part of a field cannot be read, it is left out, and the field is a text.
func Fields(raw json.RawMessage, order []string) ([]Field, error) {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := jsonx.Unmarshal(raw, &form); err != nil {
		return nil, err
	}
	var fields []Field
	for _, name := range append(slices.Clone(order), slices.Sorted(maps.Keys(form.Properties))...) {
		own, ok := form.Properties[name]
		if !ok || slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			continue
		}
		var f Field
		_ = jsonx.Unmarshal(own, &f) // as far as it goes
		f.Name, f.Required, f.Schema = name, slices.Contains(form.Required, name), own
		fields = append(fields, f)
	}
	return fields, nil
}

// Many reports whether several options can be chosen.
func (f *Field) Many() bool { return f.Type == "array" }

// Options returns the possible choices, nil if the field is not a choice.
func (f *Field) Options() []Option {
	s := f.selection
	if f.Many() {
		s = f.Items
	}
	all := slices.Concat(s.OneOf, s.AnyOf)
	for i := range all {
		if all[i].Title == "" {
			all[i].Title = all[i].Const
		}
	}
	for i, value := range s.Enum {
		title := value
		if i < len(s.EnumNames) {
			title = s.EnumNames[i]
		}
		all = append(all, Option{value, title})
	}
	return all
}

// Value makes a value of what was typed or chosen, if it fits the schema of the
// field. Choices are the Const of their options. The value is nil for a field
// that is left out.
func (f *Field) Value(texts ...string) (any, error) {
	value, err := f.parse(texts)
	if err != nil || value == nil {
		return nil, err
	}
	raw, err := jsonx.Marshal(value)
	if err != nil {
		return nil, err
	}
	wanted, err := schema.Parse(f.Schema)
	if err != nil {
		return value, nil // the server checks it too
	}
	return value, wanted.Validate(raw)
}

func (f *Field) parse(texts []string) (any, error) {
	given := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.TrimSpace(text) == "" })
	options := f.Options()
	for _, text := range given {
		if options != nil && !slices.ContainsFunc(options, func(o Option) bool { return o.Const == text }) {
			return nil, fmt.Errorf("%q is not one of the options", text)
		}
	}
	switch {
	case len(given) == 0 && f.Required:
		return nil, errors.New("it is needed")
	case len(given) == 0:
		return nil, nil
	case f.Many():
		return given, nil
	case f.Type == "boolean":
		yes, err := strconv.ParseBool(given[0])
		if err != nil {
			return nil, errors.New("it is neither true nor false")
		}
		return yes, nil
	case f.Type == "number" || f.Type == "integer":
		text := strings.TrimSpace(given[0])
		if _, err := strconv.ParseFloat(text, 64); err != nil || !jsonx.Valid([]byte(text)) {
			return nil, errors.New("it is not a number")
		}
		return json.RawMessage(text), nil // as it was typed, with all its digits
	}
	return given[0], nil
}
