package message

import "github.com/claude-agent-go/claude/internal/jsonx"

// Missing returns the path of a required part that a message lacks, such as
// "message.content" of an answer, or "" if the message is complete. Decoding
// does not fail because of it: such a message was written by a newer CLI, or a
// broken one, and the parts it has are kept.
func Missing(m Message) string {
	switch m := m.(type) {
	case *Assistant:
		return emptyContent(m.Content, m.Raw)
	case *User:
		return emptyContent(m.Content, m.Raw)
	case *StreamEvent:
		switch {
		case m.EventType != "":
		case !jsonx.Present(jsonx.Member(m.Raw, "event")):
			return "event"
		default:
			return "event.type"
		}
	case *Result:
		if m.Subtype == "" {
			return "subtype"
		}
	case *System:
		if m.Subtype == "" {
			return "subtype"
		}
	case *Unknown:
		if m.Type == "" {
			return "type"
		}
	}
	return ""
}

// emptyContent returns the path of the missing part of a message without
// content. Only then is the line searched. Older CLIs wrote pieces of answers as
// "delta", without content.
func emptyContent(c Content, raw []byte) string {
	if len(c) > 0 || jsonx.Present(jsonx.Member(raw, "delta")) {
		return ""
	}
	inner := jsonx.Member(raw, "message")
	switch {
	case !jsonx.Present(inner):
		return "message"
	case inner[0] == '{' && !jsonx.Present(jsonx.Member(inner, "content")):
		return "message.content"
	}
	return ""
}
