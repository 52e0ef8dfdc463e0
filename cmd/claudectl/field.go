package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
)

// field is one field of a form, as MCP servers describe it: a text, a number,
// yes or no, or a choice.
type field struct {
	name     string
	required bool
	schema   json.RawMessage

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	selection
	// Items says what a list of choices is made of.
	Items selection `json:"items"`
}

// selection is a set of texts to choose from, in one of three ways to write it.
type selection struct {
	Enum      []string      `json:"enum"`
	EnumNames []string      `json:"enumNames"`
	OneOf     []fieldOption `json:"oneOf"`
	AnyOf     []fieldOption `json:"anyOf"`
}

// fieldOption is what can be chosen, and how it is called for people.
type fieldOption struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// newField reads a field. What cannot be read of it is left out, and the field is
// a text.
func newField(name string, raw json.RawMessage, required bool) *field {
	f := &field{}
	_ = jsonx.Unmarshal(raw, f) // as far as it goes
	f.name, f.required, f.schema = name, required, raw
	return f
}

// heading says what the field is for.
func (f *field) heading() string {
	text := f.Title
	if text == "" {
		text = f.name
	}
	if f.Description != "" {
		text += ": " + f.Description
	}
	if len(f.Default) > 0 {
		text += " (default " + string(f.Default) + ")"
	}
	return text
}

// options returns what can be chosen, nil if the field is not a choice.
func (f *field) options() []fieldOption {
	s := f.selection
	if f.Type == "array" {
		s = f.Items
	}
	all := slices.Concat(s.OneOf, s.AnyOf)
	for i, value := range s.Enum {
		title := value
		if i < len(s.EnumNames) {
			title = s.EnumNames[i]
		}
		all = append(all, fieldOption{value, title})
	}
	return all
}

// how says what to type.
func (f *field) how() string {
	what := "Text"
	switch {
	case f.Type == "array" && f.options() != nil:
		what = "Numbers with commas"
	case f.options() != nil:
		what = "A number"
	case f.Type == "boolean":
		what = "y or n"
	case f.Type == "number" || f.Type == "integer":
		what = "A number"
	}
	switch {
	case len(f.Default) > 0:
		what += ", or nothing for the default"
	case !f.required:
		what += ", or nothing"
	}
	return what + ": "
}

// read makes a value of what was typed, if it fits the schema of the field.
func (f *field) read(text string) (any, error) {
	value, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	raw, err := jsonx.Marshal(value)
	if err != nil {
		return nil, err
	}
	wanted, err := schema.Parse(f.schema)
	if err != nil {
		return value, nil // the server checks it too
	}
	return value, wanted.Validate(raw)
}

func (f *field) parse(text string) (any, error) {
	options := f.options()
	switch {
	case options != nil:
		chosen := choices(text, len(options), f.Type == "array")
		var values []string
		for _, i := range chosen {
			values = append(values, options[i].Const)
		}
		switch {
		case chosen == nil:
			return nil, errors.New("choose by number")
		case f.Type == "array":
			return values, nil
		}
		return values[0], nil
	case f.Type == "boolean":
		if yes, ok := yesOrNo(text); ok {
			return yes, nil
		}
		return nil, errors.New("say y or n")
	case f.Type == "number", f.Type == "integer":
		if _, err := strconv.ParseFloat(text, 64); err != nil || !jsonx.Valid([]byte(text)) {
			return nil, errors.New("it is not a number")
		}
		return json.RawMessage(text), nil // as it was typed, with all its digits
	}
	return text, nil
}
