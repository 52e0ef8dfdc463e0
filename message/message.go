package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Message is one line of the CLI's output that is not a control frame. The set
// of types behind it is closed; lines without their own type are [Unknown] and
// [System].
type Message interface {
	// Head returns the header embedded in the message, never nil.
	Head() *Header
	// decode fills the message from one line, in one pass. It leaves Raw
	// alone, so that the caller decides about copying.
	decode(raw []byte) error
}

// Header is the part that all messages share. It is embedded in each of them.
type Header struct {
	// Type is the kind of line, such as "assistant" or "system".
	Type string `json:"type"`
	// Subtype divides the types "system" and "result".
	Subtype string `json:"subtype,omitzero"`
	// UUID names the message. A sender of user messages chooses it.
	UUID string `json:"uuid,omitzero"`
	// SessionID is the conversation the message belongs to. It changes
	// within one process after a [ConversationReset].
	SessionID string `json:"session_id,omitzero"`
	// Raw is the whole line as received, nil for a message built in Go. It is
	// shared with the reader of the line and must not be modified.
	Raw json.RawMessage `json:"-"`
}

// Head returns h.
func (h *Header) Head() *Header { return h }

// Decode decodes one line of output. The names type and subtype may appear
// anywhere in it. Decode keeps raw in the message without copying.
//
// Text that is not JSON gives a nil message and an error, as does a line whose
// type could be read in two ways. A field of an unexpected kind gives a message
// with everything that fits, and an error that names the field.
func Decode(raw []byte) (Message, error) {
	if m := fastDecode(jsonx.Text(jsonx.Member(raw, "type")), raw); m != nil {
		m.Head().Raw = raw
		return m, nil
	}
	var kind struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
	}
	// DecodeAs meets a mismatch here again, and reports it.
	if err := jsonx.Unmarshal(raw, &kind); err != nil && !jsonx.Mismatch(err) {
		return nil, fmt.Errorf("message: %w", err)
	}
	return DecodeAs(kind.Type, kind.Subtype, raw)
}

// DecodeAs is [Decode] for a caller that has already read type and subtype.
func DecodeAs(typ, subtype string, raw []byte) (Message, error) {
	if m := fastDecode(typ, raw); m != nil {
		m.Head().Raw = raw
		return m, nil
	}
	m := newMessage(typ, subtype)
	// A reader may have recognised the line by its first bytes alone.
	err := jsonx.EnvelopeNames().Check(raw)
	if err == nil || errors.Is(err, jsonx.ErrNotObject) { // decode reports what it is instead
		err = m.decode(raw)
	}
	if err != nil {
		if typ == "" {
			typ = "line"
		}
		err = fmt.Errorf("message: %s: %w", typ, err)
		if !jsonx.Mismatch(err) {
			return nil, err
		}
	}
	m.Head().Raw = raw
	return m, err
}

// Unknown is a message of a type that this package does not know.
type Unknown struct {
	Header
}

func (m *Unknown) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// Decode decodes the raw line into v by the rules of encoding/json.
func (m *Unknown) Decode(v any) error { return decodeRaw(m.Raw, v) }

// MarshalJSON returns Raw, or encodes the header if Raw is nil.
func (m Unknown) MarshalJSON() ([]byte, error) {
	type plain Unknown
	return encode(&m.Header, m.Type, m.Subtype, (*plain)(&m))
}

// System is a message of type "system" with a subtype that this package does
// not know.
type System struct {
	Header
}

func (m *System) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// Decode decodes the raw line into v by the rules of encoding/json.
func (m *System) Decode(v any) error { return decodeRaw(m.Raw, v) }

// MarshalJSON returns Raw, or encodes the header if Raw is nil.
func (m System) MarshalJSON() ([]byte, error) {
	type plain System
	return encode(&m.Header, typeSystem, m.Subtype, (*plain)(&m))
}

func decodeRaw(raw json.RawMessage, v any) error {
	if raw == nil {
		return errors.New("message: no raw line to decode")
	}
	return json.Unmarshal(raw, v)
}

// encode returns h.Raw if there is one. Otherwise it sets the kind in h, which
// is the header of plain, and encodes plain: the message as a type without JSON
// methods. It writes to the caller's copy of the message.
func encode(h *Header, typ, subtype string, plain any) ([]byte, error) {
	if len(h.Raw) != 0 {
		return h.Raw, nil
	}
	h.Type = typ
	if h.Subtype == "" {
		h.Subtype = subtype
	}
	return jsonx.Marshal(plain)
}

// unmarshal is UnmarshalJSON of the types whose wire form is nested. The
// contract of json.Unmarshaler demands the copy.
func unmarshal(m Message, data []byte) error {
	err := m.decode(data)
	m.Head().Raw = bytes.Clone(data)
	return err
}

// prompts picks the ids of the user messages that a frame answers. Newer CLIs
// send the list and the single id, some frames have the single id only.
func prompts(list []string, single string) []string {
	if len(list) == 0 && single != "" {
		return []string{single}
	}
	return list
}

// last returns the last id of a list: when prompts were merged, the CLI names
// that one in the single form.
func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// notNull returns raw JSON, nil for null.
func notNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// orNull gives the pointer that encodes an empty string as null, as the CLI
// does where a member is required.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmpty is the inverse of orNull.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
