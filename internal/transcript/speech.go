package transcript

import (
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// spoken are the members of an entry that a message of the stream has too, with
// their names there.
var spoken = [...]struct{ entry, message string }{
	{"type", "type"},
	{"subtype", "subtype"},
	{"uuid", "uuid"},
	{"sessionId", "session_id"},
	{"message", "message"},
	{"content", "content"},
	{"level", "level"},
	{"timestamp", "timestamp"},
	{"toolUseResult", "tool_use_result"},
	{"isSynthetic", "isSynthetic"},
	{"origin", "origin"},
	{"compactMetadata", "compact_metadata"},
	{"isApiErrorMessage", "is_api_error_message"},
	{"error", "error"},
	{"requestId", "request_id"},
}

// Speech writes the line of an entry as the CLI says it on its stream, so that
// one decoder serves both. Parent is the call that a sub-agent works for, "" in
// the main conversation. A line that is not the entry's is an error.
func Speech(line []byte, e *Entry, parent string) ([]byte, error) {
	m, err := jsonx.Walk(line)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(line)+64)
	out = append(out, `{"parent_tool_use_id":`...)
	if parent == "" {
		out = append(out, "null"...)
	} else {
		out = jsonx.AppendText(out, parent)
	}
	same := false
	for {
		name, err := m.Name()
		if err != nil {
			return nil, err
		}
		if name == nil {
			break
		}
		value, err := e.value(&m)
		if err != nil {
			return nil, err
		}
		for _, s := range spoken {
			if s.entry == string(name) {
				out = append(append(append(out, `,"`...), s.message...), `":`...)
				out = append(out, value...)
				break
			}
		}
		if string(name) == "uuid" {
			same = jsonx.Text(value) == e.UUID
		}
	}
	if !same {
		return nil, ErrLine
	}
	return append(out, '}'), nil
}

// Wrote reports whether a line is still that of the entry.
func (e *Entry) Wrote(line []byte) bool { return jsonx.Text(jsonx.Member(line, "uuid")) == e.UUID }

// value reads the next value of the entry's line.
func (e *Entry) value(m *jsonx.Members) ([]byte, error) {
	for _, s := range e.long {
		if s.end > 0 && int(s.begin) == m.Pos() {
			return m.ValueTo(int(s.end))
		}
	}
	return m.Value()
}

// PromptType is the type of what Prompt writes.
const PromptType = "user"

// Prompt writes a prompt that was sent in mid-turn as a message of the user. It
// is in an attachment.
func Prompt(line []byte, e *Entry) []byte {
	out := append([]byte(nil), `{"type":"`+PromptType+`","parent_tool_use_id":null,"uuid":`...)
	out = jsonx.AppendText(out, e.Queued)
	for _, s := range [...]struct{ entry, message string }{{"sessionId", "session_id"}, {"timestamp", "timestamp"}} {
		if v := jsonx.Member(line, s.entry); v != nil {
			out = append(append(append(out, `,"`...), s.message...), `":`...)
			out = append(out, v...)
		}
	}
	prompt := jsonx.Member(jsonx.Member(line, "attachment"), "prompt")
	if prompt == nil {
		prompt = []byte(`""`)
	}
	out = append(out, `,"message":{"role":"user","content":`...)
	out = append(out, prompt...)
	return append(out, "}}"...)
}
