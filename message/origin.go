package message

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Origin is who or what caused a user message or a turn.
type Origin struct {
	Kind OriginKind
	// Producer and RunID name the background work behind a turn of
	// [OriginTaskNotification].
	Producer string
	RunID    string
	// Raw is the origin as received: other kinds have their own members.
	Raw json.RawMessage
}

// OriginKind is the kind of an [Origin].
type OriginKind string

// The kinds of origins. The set is open.
const (
	OriginHuman            OriginKind = "human"
	OriginChannel          OriginKind = "channel"
	OriginPeer             OriginKind = "peer"
	OriginTaskNotification OriginKind = "task-notification"
	OriginCoordinator      OriginKind = "coordinator"
	OriginUnclassified     OriginKind = "unclassified"
	OriginObserver         OriginKind = "observer"
	OriginObserverActivity OriginKind = "observer-activity"
	OriginAutoContinuation OriginKind = "auto-continuation"
)

type originWire struct {
	Kind     OriginKind `json:"kind"`
	Producer string     `json:"producer,omitzero"`
	RunID    string     `json:"runId,omitzero"`
}

// UnmarshalJSON decodes the origin and keeps it in Raw.
func (o *Origin) UnmarshalJSON(data []byte) error {
	var w originWire
	err := jsonx.Unmarshal(data, &w)
	*o = Origin{Kind: w.Kind, Producer: w.Producer, RunID: w.RunID, Raw: bytes.Clone(data)}
	return err
}

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (o Origin) MarshalJSON() ([]byte, error) {
	if len(o.Raw) != 0 {
		return o.Raw, nil
	}
	return jsonx.Marshal(originWire{o.Kind, o.Producer, o.RunID})
}

// wireTime is a point in time in the form of ISO 8601, as JavaScript writes it.
type wireTime struct{ time.Time }

// UnmarshalJSON accepts any string. A string that is not a time is kept only in
// the raw line: an unreadable clock does not make a message broken.
func (t *wireTime) UnmarshalJSON(data []byte) error {
	var s string
	if err := jsonx.Unmarshal(data, &s); err != nil {
		return err
	}
	t.Time, _ = time.Parse(time.RFC3339Nano, s)
	return nil
}

// MarshalJSON writes milliseconds in UTC.
func (t wireTime) MarshalJSON() ([]byte, error) {
	return jsonx.Marshal(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
