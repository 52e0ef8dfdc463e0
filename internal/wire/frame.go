package wire

import (
	"errors"
	"math"
	"slices"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Types of frames that are not messages.
const (
	TypeRequest   = "control_request"
	TypeResponse  = "control_response"
	TypeCancel    = "control_cancel_request"
	TypeKeepAlive = "keep_alive"
	TypeMirror    = "transcript_mirror" // lines that the CLI has added to a transcript
)

// Frame is one line, classified and otherwise untouched.
type Frame struct {
	// Line is the whole line. Frame and everything taken from it share it.
	Line []byte
	// Retained is how much memory the line keeps from being freed, 0 if that is not
	// known.
	Retained int
	// Type and Subtype are those members of the top level, "" when absent.
	Type, Subtype string

	idSpan, requestSpan, responseSpan span // of request_id, request and response
}

// span is where a member is in the line. The zero value does not know.
type span struct{ begin, end int32 }

// spanOf returns the place of a value that was cut out of a line.
func spanOf(line, value []byte) span {
	begin := cap(line) - cap(value) // both reach as far as the line could
	if begin+len(value) > math.MaxInt32 {
		return span{}
	}
	return span{int32(begin), int32(begin + len(value))}
}

// memberAt returns the member at a place, or looks for it.
func (f Frame) memberAt(s span, name string) []byte {
	if s.end == 0 || int(s.end) > len(f.Line) {
		return f.Member(name)
	}
	return f.Line[s.begin:s.end]
}

// Parse classifies a line. It fails when the line is not a JSON object or when
// its envelope could be read in two ways.
func Parse(line []byte) (Frame, error) {
	f := Frame{Line: line}
	m, err := jsonx.Walk(line)
	if err != nil {
		return f, err
	}
	envelope := jsonx.EnvelopeNames()
	for {
		name, value, err := m.Next()
		if err != nil {
			return f, err
		}
		if name == nil {
			return f, nil
		}
		if err := envelope.Add(name); err != nil {
			return f, err
		}
		switch string(name) {
		case "type":
			f.Type = typeName(value)
		case "subtype":
			f.Subtype = typeName(value)
		case "request_id":
			f.idSpan = spanOf(line, value)
		case "request":
			f.requestSpan = spanOf(line, value)
		case "response":
			f.responseSpan = spanOf(line, value)
		}
	}
}

// uniqueMembers finds the named members of an object and puts them into values, nil for
// those that are absent. It refuses an object in which one could be read in two
// ways.
func uniqueMembers(obj []byte, names []string, values [][]byte) error {
	m, err := jsonx.Walk(obj)
	if errors.Is(err, jsonx.ErrNotObject) {
		return nil
	}
	unique := jsonx.CheckNames(names)
	for err == nil {
		var name, value []byte
		if name, value, err = m.Next(); name == nil {
			break
		}
		if err = unique.Add(name); err != nil {
			break
		}
		if i := slices.Index(names, string(name)); i >= 0 {
			values[i] = value
		}
	}
	return err
}

// typeName returns a type or subtype, without allocating for the common ones.
func typeName(value []byte) string {
	switch string(value) {
	case `"stream_event"`:
		return "stream_event"
	case `"assistant"`:
		return "assistant"
	case `"user"`:
		return "user"
	case `"system"`:
		return "system"
	case `"result"`:
		return "result"
	case `"control_request"`:
		return TypeRequest
	case `"control_response"`:
		return TypeResponse
	case `"success"`:
		return "success"
	case `"can_use_tool"`:
		return "can_use_tool"
	case `"hook_callback"`:
		return "hook_callback"
	case `"mcp_message"`:
		return "mcp_message"
	}
	return jsonx.Text(value)
}

// Member returns a member of the top level as written, nil when absent.
func (f Frame) Member(name string) []byte { return jsonx.Member(f.Line, name) }

// Text returns a member of the top level that is a string, "" otherwise.
func (f Frame) Text(name string) string { return jsonx.Text(f.Member(name)) }

// Prompts returns the ids of the user messages that the frame names:
// user_message_uuids, or the single user_message_uuid. It looks for both in one
// walk, because with a CLI that names no prompts every delta is examined.
func (f Frame) Prompts() []string {
	var single []byte
	m, err := jsonx.Walk(f.Line)
	for err == nil {
		var name, value []byte
		if name, value, err = m.Next(); name == nil {
			break
		}
		switch string(name) {
		case "user_message_uuids":
			var ids []string
			_ = jsonx.Unmarshal(value, &ids) // what fits is kept
			if len(ids) > 0 {
				return ids
			}
		case "user_message_uuid":
			single = value
		}
	}
	if id := jsonx.Text(single); id != "" {
		return []string{id}
	}
	return nil
}
