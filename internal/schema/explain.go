package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// explain shortens the message of a failed validation: a model has no use for the
// path through the schema, and the last part names the mistake.
func explain(err error) string {
	text := err.Error()
	text = strings.ReplaceAll(text, "validating root: ", "")
	return strings.ReplaceAll(text, "validating ", "")
}

// Explain describes in terms of JSON what encoding/json found not to fit, instead
// of naming Go types. Other errors stay as they are.
func Explain(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	got, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5" of a number that is too big
	text := "is " + withArticle(got)
	if want := kindName(wrong.Type); want != "" && want != got {
		text += ", want " + withArticle(want)
	} else if want == "number" {
		text = strings.TrimPrefix(wrong.Value, "number ") + " is out of range"
	}
	if wrong.Field != "" {
		text = wrong.Field + ": " + text
	}
	return &typeMismatch{text, err}
}

// typeMismatch is a mismatch in plain words.
type typeMismatch struct {
	text string
	err  error
}

func (e *typeMismatch) Error() string { return e.text }
func (e *typeMismatch) Unwrap() error { return e.err }

func withArticle(noun string) string {
	if noun != "" && strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// kindName returns the JSON type of a Go type, "" for one that could be anything.
func kindName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Pointer:
		return kindName(t.Elem())
	}
	return ""
}
