package schema

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Version is the version of the protocol that these types describe.
const Version ProtocolVersion = 1

// Empty is an object without members of its own, such as the outcome of a
// question that was cancelled.
type Empty struct {
	// Extra holds the members without a field, as received.
	Extra map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON encodes the object with its Extra members.
func (v Empty) MarshalJSON() ([]byte, error) {
	type plain Empty
	return jsonx.Marshal(plain(v))
}

// UnmarshalJSON decodes the object and keeps unknown members in Extra.
func (v *Empty) UnmarshalJSON(data []byte) error {
	type plain Empty
	*v = Empty{}
	return jsonx.Unmarshal(data, (*plain)(v))
}

// Error returns the message of the error, so that an *Error can be returned as
// the error of a method.
func (v *Error) Error() string { return v.Message }

// marshalTagged encodes an object with the member that distinguishes it first.
func marshalTagged(name, value string, object any) ([]byte, error) {
	data, err := jsonx.Marshal(object)
	if err != nil {
		return nil, err
	}
	out := jsonx.AppendText(make([]byte, 0, len(data)+len(name)+len(value)+6), name)
	out = append([]byte{'{'}, out...)
	out = jsonx.AppendText(append(out, ':'), value)
	if len(data) > len("{}") {
		out = append(out, ',')
	}
	return append(out, data[1:]...), nil
}

// unmarshalTagged decodes an object. The member that distinguishes it is not one
// of those without a field.
func unmarshalTagged(data []byte, name string, object any, extra *map[string]json.RawMessage) error {
	if err := jsonx.Unmarshal(data, object); err != nil {
		return err
	}
	delete(*extra, name)
	if len(*extra) == 0 {
		*extra = nil
	}
	return nil
}
