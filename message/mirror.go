package message

import (
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// MirrorError means that the store of the session has taken nothing for some
// time, or that a part of the transcript cannot be stored. It does not come
// from the CLI: the session puts it into the stream.
type MirrorError struct {
	Header

	// Error is why the entries are not stored.
	Error string `json:"error"`
	// Key names the transcript that they belong to.
	Key MirrorKey `json:"key"`
	// Journal is the file that holds the entries until they are stored, "" if
	// they could not be kept.
	Journal string `json:"journal,omitzero"`
}

// MirrorKey names a transcript in a store, as store.Key does.
type MirrorKey struct {
	Project string `json:"projectKey"`
	Session string `json:"sessionId"`
	Sub     string `json:"subpath,omitzero"`
}

// NewMirrorError makes the message for a session.
func NewMirrorError(session, problem, journal string, key MirrorKey) *MirrorError {
	return &MirrorError{
		Header: Header{UUID: uuid.New(), SessionID: session},
		Error:  problem, Key: key, Journal: journal,
	}
}

func (m *MirrorError) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m MirrorError) MarshalJSON() ([]byte, error) {
	type plain MirrorError
	return encode(&m.Header, typeSystem, "mirror_error", (*plain)(&m))
}
