package control

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// soft decodes data into v and returns a copy of data. Sound JSON of another
// shape is not an error: every field that fits is filled.
func soft(data []byte, v any) (json.RawMessage, error) {
	if err := jsonx.Unmarshal(data, v); err != nil && !jsonx.Mismatch(err) {
		return nil, err
	}
	return append(json.RawMessage(nil), data...), nil
}

// notNull returns raw JSON, nil for null.
func notNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
