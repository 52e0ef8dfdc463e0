package message

import "encoding/json"

// deltaEvent is a StreamEvent and its Delta in one allocation.
type deltaEvent struct {
	StreamEvent
	delta Delta
}

// fastDelta reads a content_block_delta, nil for any other line. Deltas are the
// most frequent line by far.
func fastDelta(raw []byte) *StreamEvent {
	var r fastReader
	m := new(deltaEvent)
	r.Start(raw)
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "type":
			if m.Type != "" || !r.TextIs(typeStream) {
				return nil
			}
			m.Type = typeStream
		case "event":
			mark := r.Mark()
			if m.Event != nil || !r.event(m) {
				return nil
			}
			m.Event = json.RawMessage(r.Since(mark))
		case "session_id":
			m.SessionID = r.Text()
		case "uuid":
			m.UUID = r.Text()
		case "api_message_id":
			m.MessageID = r.Text()
		case "parent_tool_use_id":
			m.ParentToolUseID = r.Text()
		case "thinking_display":
			m.ThinkingDisplay = r.KnownText("updates")
		default: // the first event of an answer holds more
			return nil
		}
	}
	if !r.End() || m.Event == nil {
		return nil
	}
	return &m.StreamEvent
}

// event reads the event of the API.
func (r *fastReader) event(m *deltaEvent) bool {
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "type":
			if !r.TextIs(string(EventBlockDelta)) {
				return false
			}
			m.EventType = EventBlockDelta
		case "index":
			m.Index = r.Int()
		case "delta":
			m.Delta = &m.delta
			r.delta(m.Delta)
		default:
			return false
		}
	}
	return r.OK() && m.Delta != nil && m.EventType != ""
}

// delta reads the piece that the event adds.
func (r *fastReader) delta(d *Delta) {
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "type":
			d.Type = DeltaType(r.KnownText(string(DeltaText), string(DeltaThinking), string(DeltaInputJSON)))
		case "text":
			d.Text = r.Text()
		case "thinking":
			d.Thinking = r.Text()
		case "partial_json":
			d.PartialJSON = r.Text()
		case "signature":
			d.Signature = r.Text()
		default:
			r.Fail()
		}
	}
}
