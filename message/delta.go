package message

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Deltas are the most frequent line by far, and all alike: they are read here
// in one walk with two allocations instead of ten. A line with anything
// unusual about it is left to the general way; FuzzDelta holds the two
// together.

// deltaEvent is a StreamEvent and its Delta in one allocation.
type deltaEvent struct {
	StreamEvent
	delta Delta
}

// fastDelta reads a content_block_delta of the usual form, nil for any other
// line.
func fastDelta(raw []byte) *StreamEvent {
	if len(raw) > 64<<10 || !utf8.Valid(raw) {
		return nil
	}
	r := deltaReader{raw: raw, text: string(raw)}
	if !r.line() || r.m.Event == nil {
		return nil
	}
	return &r.m.StreamEvent
}

// deltaReader fills a deltaEvent. Its strings are pieces of text, one copy of
// the line.
type deltaReader struct {
	raw  []byte
	text string
	m    *deltaEvent
	seen uint // names met so far, by bit
}

// once reports false for a name that occurs twice.
func (r *deltaReader) once(bit uint) bool {
	fresh := r.seen&(1<<bit) == 0
	r.seen |= 1 << bit
	return fresh
}

// plain gives the content of a string without escapes.
func (r *deltaReader) plain(value []byte, s *string) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	for _, c := range value[1 : len(value)-1] {
		if c < 0x20 || c == '\\' {
			return false
		}
	}
	// Every value is a slice of raw that reaches to its end, so what is behind
	// it tells where it begins.
	begin := cap(r.raw) - cap(value)
	*s = r.text[begin+1 : begin+len(value)-1]
	return true
}

// string is plain for texts of the model, which often have escapes.
func (r *deltaReader) string(value []byte, s *string) bool {
	return r.plain(value, s) || len(value) > 0 && value[0] == '"' && jsonx.Unmarshal(value, s) == nil
}

// line reads the top level.
func (r *deltaReader) line() bool {
	w, err := jsonx.Walk(r.raw)
	if err != nil {
		return false
	}
	r.m = new(deltaEvent)
	for {
		name, value, err := w.Next()
		if err != nil || name == nil {
			return err == nil
		}
		var ok bool
		switch string(name) {
		case "type":
			ok = r.once(0) && string(value) == `"stream_event"`
			r.m.Type = typeStream
		case "event":
			ok = r.once(1) && r.event(value)
			r.m.Event = json.RawMessage(value)
		case "session_id":
			ok = r.once(2) && r.plain(value, &r.m.SessionID)
		case "uuid":
			ok = r.once(3) && r.plain(value, &r.m.UUID)
		case "api_message_id":
			ok = r.once(4) && r.plain(value, &r.m.MessageID)
		case "parent_tool_use_id":
			ok = r.once(5) && (string(value) == "null" || r.plain(value, &r.m.ParentToolUseID))
		case "thinking_display":
			var ignored string
			ok = r.once(6) && r.plain(value, &ignored)
		}
		if !ok {
			return false
		}
	}
}

// event reads the event of the API.
func (r *deltaReader) event(obj []byte) bool {
	w, err := jsonx.Walk(obj)
	if err != nil {
		return false
	}
	for {
		name, value, err := w.Next()
		if err != nil {
			return false
		}
		if name == nil {
			return r.m.EventType != "" && r.m.Delta != nil
		}
		var ok bool
		switch string(name) {
		case "type":
			ok = r.once(8) && string(value) == `"content_block_delta"`
			r.m.EventType = EventBlockDelta
		case "index":
			ok = r.once(9) && small(value, &r.m.Index)
		case "delta":
			ok = r.once(10) && r.delta(value)
			r.m.Delta = &r.m.delta
		}
		if !ok {
			return false
		}
	}
}

// delta reads what the event adds.
func (r *deltaReader) delta(obj []byte) bool {
	w, err := jsonx.Walk(obj)
	if err != nil {
		return false
	}
	d := &r.m.delta
	for {
		name, value, err := w.Next()
		if err != nil || name == nil {
			return err == nil
		}
		var ok bool
		switch string(name) {
		case "type":
			ok = r.once(16) && r.plain(value, &d.Type)
		case "text":
			ok = r.once(17) && r.string(value, &d.Text)
		case "thinking":
			ok = r.once(18) && r.string(value, &d.Thinking)
		case "partial_json":
			ok = r.once(19) && r.string(value, &d.PartialJSON)
		}
		if !ok {
			return false
		}
	}
}

// small reads a whole number of at most four digits.
func small(value []byte, n *int) bool {
	if len(value) == 0 || len(value) > 4 || len(value) > 1 && value[0] == '0' {
		return false
	}
	*n = 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		*n = *n*10 + int(c-'0')
	}
	return true
}
