package main

import (
	"errors"

	"github.com/claude-agent-go/claude/internal/form"
)

// field is one field of a form, as a person at a terminal fills it in.
type field struct{ form.Field }

// heading describes the purpose of the field.
func (f *field) heading() string {
	text := f.Title
	if text == "" {
		text = f.Name
	}
	if f.Description != "" {
		text += ": " + f.Description
	}
	if len(f.Default) > 0 {
		text += " (default " + string(f.Default) + ")"
	}
	return text
}

// how explains what to type.
func (f *field) how() string {
	what := "Text"
	switch {
	case f.Many() && f.Options() != nil:
		what = "Numbers with commas"
	case f.Options() != nil:
		what = "A number"
	case f.Type == "boolean":
		what = "y or n"
	case f.Type == "number" || f.Type == "integer":
		what = "A number"
	}
	switch {
	case len(f.Default) > 0:
		what += ", or nothing for the default"
	case !f.Required:
		what += ", or nothing"
	}
	return what + ": "
}

// read makes a value of what was typed, if it fits the schema of the field.
// Options are chosen by number.
func (f *field) read(text string) (any, error) {
	texts := []string{text}
	if options := f.Options(); options != nil {
		chosen := choices(text, len(options), f.Many())
		if chosen == nil {
			return nil, errors.New("choose by number")
		}
		texts = nil
		for _, i := range chosen {
			texts = append(texts, options[i].Const)
		}
	} else if f.Type == "boolean" {
		yes, ok := yesOrNo(text)
		if !ok {
			return nil, errors.New("say y or n")
		}
		if texts[0] = "false"; yes {
			texts[0] = "true"
		}
	}
	return f.Value(texts...)
}
