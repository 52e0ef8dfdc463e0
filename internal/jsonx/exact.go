package jsonx

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// A gate decides about a value that another program acts on. Readers of JSON
// differ: some take the first of two equal names and some the last, and some do not
// distinguish "path" and "PATH". So what a gate reads must have one meaning for all
// of them.

// Unambiguous refuses a value in which an object, at any level, has a name twice
// or two names that differ only in case. Invalid JSON is also refused.
func Unambiguous(data []byte) error {
	var s Scanner
	s.Start(data)
	if s.Skip(); s.End() {
		return nil
	}
	return unambiguousSlow(data)
}

// unambiguousSlow is Unambiguous for a value with anything unusual about it.
func unambiguousSlow(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var open []map[string]string // names as they were written, by their folded form
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch token.Kind() {
		case '{':
			open = append(open, make(map[string]string))
			continue
		case '[':
			open = append(open, nil)
			continue
		case '}', ']':
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			if rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return errors.New("text after the value")
			}
			return nil
		}
		names := open[len(open)-1]
		if _, n := dec.StackIndex(dec.StackDepth()); names == nil || n%2 == 0 || token.Kind() != '"' {
			continue
		}
		name := token.String()
		if before, twice := names[foldCase(name)]; twice {
			return ambiguous(before, name)
		}
		names[foldCase(name)] = name
	}
}

func ambiguous(before, name string) error {
	if before == name {
		return fmt.Errorf("member %q occurs twice", name)
	}
	return fmt.Errorf("members %q and %q differ only in case", before, name)
}

// foldCase makes texts equal that strings.EqualFold calls equal.
func foldCase(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, text)
}

// UnmarshalExact decodes a user's value into v as encoding/json does,
// with two differences: names match exactly, and a value that readers could
// disagree about is refused. That is one with a repeated name or with names that
// differ only in case, and one with a name that encoding/json would take for
// that of a field although it is written otherwise.
func UnmarshalExact(data []byte, v any) error {
	if err := Unambiguous(data); err != nil {
		return err
	}
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return stdjson.Unmarshal(data, v) // which reports what is wrong with it
	}
	target = target.Elem()
	if target.IsZero() {
		if unmarshalUser(data, v, json.RejectUnknownMembers(true)) == nil {
			return nil // every name is that of a field, to the letter
		}
		target.SetZero()
	}
	if !dependsOnCase(data, target.Type()) {
		return unmarshalUser(data, v, json.RejectUnknownMembers(false))
	}
	m, err := Walk(data)
	for err == nil {
		name, value, next := m.Next()
		if err = next; name == nil {
			break
		}
		member := append(AppendText([]byte("{"), string(name)), ':')
		if dependsOnCase(append(append(member, value...), '}'), target.Type()) {
			return fmt.Errorf("member %q, or one inside of it, differs from the name of a field only in case: a json tag says which is meant", name)
		}
	}
	return errors.New("the name of a member differs from that of a field only in case: a json tag says which is meant")
}

// dependsOnCase reports whether a value of that type depends on whether readers care
// about the case of names.
func dependsOnCase(data []byte, t reflect.Type) bool {
	one, other := reflect.New(t).Interface(), reflect.New(t).Interface()
	err := unmarshalUser(data, one, json.MatchCaseInsensitiveNames(false))
	otherErr := unmarshalUser(data, other, json.MatchCaseInsensitiveNames(true))
	return (err == nil) != (otherErr == nil) || !reflect.DeepEqual(one, other)
}

// unmarshalUser decodes by the rules of encoding/json, but by exact names unless
// told otherwise.
func unmarshalUser(data []byte, v any, more json.Options) error {
	return json.Unmarshal(data, v, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false), json.WithUnmarshalers(userTypes[0]), more)
}

// userTypes are the types of encoding/json that the library does not know. What
// it finds out about them it keeps.
var userTypes = [...]*json.Unmarshalers{json.UnmarshalFromFunc(unmarshalNumber)}

// unmarshalNumber reads a number of encoding/json: a number, or a text that is
// one.
func unmarshalNumber(dec *jsontext.Decoder, n *stdjson.Number) error {
	if dec.PeekKind() == 'n' {
		_, err := dec.ReadToken()
		return err
	}
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return stdjson.Unmarshal(value, n)
}
