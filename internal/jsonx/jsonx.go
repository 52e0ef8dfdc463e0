// Package jsonx is the one JSON seam of the protocol: every frame and payload
// is decoded and encoded here, so the choice of library and its options is
// made once.
//
// The options follow the observed output of the CLI:
//
//   - Lone surrogates ("\ud83d") occur on stream, assistant and result lines,
//     so invalid Unicode is kept, not refused.
//   - Names match exactly and a repeated name is refused: a frame whose "type"
//     could be read in two ways must not be read at all.
//   - A field of an unexpected kind costs that field, not the message.
//
// Types that belong to the user (tool inputs, typed answers) go through
// encoding/json instead, as their authors expect.
package jsonx

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Unknown holds the members of an object that its Go type does not know, in a field with
// the tag `json:",embed"`. They are written again as they were read.
type Unknown = jsontext.Value

// Marshal encodes v on one line. Raw values inside v keep their strings and
// numbers as written; only insignificant blanks are dropped.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v,
		jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true),
		json.Deterministic(true))
}

// Unmarshal decodes data into v. When a field does not fit its Go type, every
// field that does fit is still filled and the error names the one that did
// not; [Mismatch] separates such an error from text that is not JSON at all.
func Unmarshal(data []byte, v any) error {
	err := UnmarshalWhole(data, v)
	if !Mismatch(err) {
		return err
	}
	// The first attempt stops at the first mismatch. The legacy semantics
	// continue; they cost about twice the time, so they are the second attempt only.
	return json.Unmarshal(data, v,
		jsontext.AllowInvalidUTF8(true),
		jsonv1.ReportErrorsWithLegacySemantics(true))
}

// UnmarshalWhole is [Unmarshal] for a value that is of use as a whole only: it
// gives up at the first field that does not fit, with v half filled.
func UnmarshalWhole(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowInvalidUTF8(true))
}

// Mismatch reports whether err, from [Unmarshal], means that the data is sound
// JSON of another shape than the Go value.
func Mismatch(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*json.SemanticError](err); ok {
		return true
	}
	_, ok := errors.AsType[*jsonv1.UnmarshalTypeError](err)
	return ok
}

// NewMismatch returns the error of an UnmarshalJSON that refuses a value, which
// costs that field and not the message.
func NewMismatch[T any](value string) error {
	return &jsonv1.UnmarshalTypeError{Value: value, Type: reflect.TypeFor[T]()}
}

// Valid reports whether data is one JSON value without repeated names.
func Valid(data []byte) bool {
	var s Scanner
	s.Start(data)
	if s.Skip(); s.End() {
		return true
	}
	return jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true))
}

// AppendText appends a string as JSON.
func AppendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := jsontext.AppendQuote(b, text)
			if err != nil { // it holds bytes that are not UTF-8
				quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(text, "\ufffd"))
			}
			return quoted
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// Line returns data as JSON without a line break: data itself when it has
// none, otherwise a copy without insignificant blanks.
func Line(data []byte) ([]byte, error) {
	if bytes.IndexByte(data, '\n') < 0 {
		return data, nil
	}
	v := jsontext.Value(bytes.Clone(data))
	err := v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	return v, err
}
