// Package recordform is the form in which this module keeps values in the records of a
// store: a JSON object with its version.
//
// A record without a version has version 1. A program that meets a newer version than
// it knows must not read it, and so changes nothing: its own version of the record
// would lose the newer meaning. A member that it does not know, in a version that it
// does, is another matter: it stays as it is when the record is changed. A type that is
// changed in place has a field for such members:
//
//	Unknown jsonx.Unknown `json:",embed"`
package recordform

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/store"
)

// Version is the newest version that this program knows, and the one that it writes.
const Version = 1

// first is the first member of a record that this program has written.
const first = `{"v":1`

// Encode returns the value of a record.
func Encode(v any) ([]byte, error) {
	object, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(object, []byte("{"))
	if !ok {
		return nil, jsonx.ErrNotObject
	}
	value := make([]byte, 0, len(first)+1+len(rest))
	value = append(value, first...)
	if rest[0] != '}' {
		value = append(value, ',')
	}
	return append(value, rest...), nil
}

// Decode reads the value of a record. If its version is newer, the error matches
// [store.ErrNewer]; any other one matches [store.ErrDamaged].
func Decode(r store.Record, v any) error {
	object, err := open(r.Value)
	if err == nil {
		err = jsonx.Unmarshal(object, v)
	}
	if err != nil {
		reason := store.ErrDamaged
		if n, ok := err.(newerError); ok {
			return fmt.Errorf("%w: record %s has version %d, and this program knows %d", store.ErrNewer, r.Key, int(n), Version)
		}
		return fmt.Errorf("%w: record %s: %w", reason, r.Key, err)
	}
	return nil
}

// newerError is a version that this program does not know.
type newerError int

func (n newerError) Error() string { return "version " + strconv.Itoa(int(n)) }

// open returns the object without its version.
func open(value []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(value, []byte(first)); ok && len(rest) > 0 {
		switch rest[0] {
		case ',':
			return append([]byte("{"), rest[1:]...), nil
		case '}':
			return append([]byte("{"), rest...), nil
		}
	}
	// It was written by a program that knew no versions, or by a newer one.
	members, err := jsonx.Walk(value)
	if err != nil {
		return nil, err
	}
	out := []byte("{")
	for {
		name, member, err := members.Next()
		if err != nil {
			return nil, err
		}
		if name == nil {
			return append(out, '}'), nil
		}
		if string(name) == "v" {
			n, err := strconv.Atoi(string(member))
			if err != nil || n < 1 {
				return nil, fmt.Errorf("version %s", member)
			}
			if n > Version {
				return nil, newerError(n)
			}
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, err := jsonx.Marshal(string(name))
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, quoted...), ':'), member...)
	}
}
