package jsonx

import (
	"encoding/json"
	"errors"
)

// ErrNotJSON means that a raw value of the user is not JSON.
var ErrNotJSON = errors.New("the raw value is not JSON")

// MarshalUser encodes a value whose type belongs to the user: by the rules of
// encoding/json, as its author expects. A raw value is checked and
// kept, since encoding/json would rewrite its strings.
func MarshalUser(v any) (json.RawMessage, error) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return json.Marshal(v)
	}
	if !Valid(raw) {
		return nil, ErrNotJSON
	}
	return Line(raw)
}
