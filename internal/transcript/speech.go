package transcript

import (
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// appendSpoken appends a member of an entry under the name that it has in a
// message of the stream, or nothing if it has none there.
func appendSpoken(out, member, value []byte) []byte {
	switch string(member) {
	case "type", "subtype", "uuid", "message", "content", "level", "timestamp", "isSynthetic", "origin", "error":
		out = append(append(out, `,"`...), member...)
	case "sessionId":
		out = append(out, `,"session_id`...)
	case "toolUseResult":
		out = append(out, `,"tool_use_result`...)
	case "compactMetadata":
		out = append(out, `,"compact_metadata`...)
	case "isApiErrorMessage":
		out = append(out, `,"is_api_error_message`...)
	case "requestId":
		out = append(out, `,"request_id`...)
	default:
		return out
	}
	return append(append(out, `":`...), value...)
}

// AppendSpeech appends the line of an entry as the CLI writes it on its stream,
// so that one decoder serves both. Parent is the call that a subagent works for,
// "" in the main conversation. A line that is not the entry's is an error.
func (x *Index) AppendSpeech(out, line []byte, e *Entry, parent string) ([]byte, error) {
	m, err := jsonx.Walk(line)
	if err != nil {
		return nil, err
	}
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
		value, err := e.value(&m, name)
		if err != nil {
			return nil, err
		}
		out = appendSpoken(out, name, value)
		if string(name) == "uuid" {
			same = x.is(e, value)
		}
	}
	if !same {
		return nil, ErrLine
	}
	return append(out, '}'), nil
}

// Wrote reports whether a line is still that of the entry.
func (x *Index) Wrote(line []byte, e *Entry) bool { return x.is(e, jsonx.Member(line, "uuid")) }

// is reports whether a value is the id of an entry.
func (x *Index) is(e *Entry, value []byte) bool {
	return x.numbers[x.hash.key(unquoted(value))] == e.id
}

// value reads the next value of the entry's line, the member of a name.
func (e *Entry) value(m *jsonx.Members, name []byte) ([]byte, error) {
	for i, end := range e.ends {
		if end > 0 && string(name) == longMembers[i] {
			return m.ValueTo(int(end))
		}
	}
	return m.Value()
}

// PromptType is the type of what AppendPrompt writes.
const PromptType = "user"

// AppendPrompt appends a prompt that was sent in mid-turn as a message of the
// user. It is in an attachment. A line that is not the entry's is an error.
func (x *Index) AppendPrompt(out, line []byte, e *Entry) ([]byte, error) {
	if !x.Wrote(line, e) {
		return nil, ErrLine
	}
	return appendPrompt(out, line, jsonx.Member(line, "attachment")), nil
}

// TakenIn returns the prompt in a line that a turn took in, as a message of the
// user; nil if the line holds none.
func TakenIn(line []byte) []byte {
	if jsonx.Text(jsonx.Member(line, "type")) != "attachment" {
		return nil
	}
	a := jsonx.Member(line, "attachment")
	mode := jsonx.Text(jsonx.Member(a, "commandMode"))
	if jsonx.Text(jsonx.Member(a, "type")) != "queued_command" || jsonx.Text(jsonx.Member(a, "source_uuid")) == "" || mode != "" && mode != "prompt" {
		return nil
	}
	return appendPrompt(nil, line, a)
}

func appendPrompt(out, line, attachment []byte) []byte {
	out = append(out, `{"type":"`+PromptType+`","parent_tool_use_id":null,"uuid":`...)
	out = jsonx.AppendText(out, jsonx.Text(jsonx.Member(attachment, "source_uuid")))
	for _, s := range [...]struct{ entry, message string }{{"sessionId", "session_id"}, {"timestamp", "timestamp"}} {
		if v := jsonx.Member(line, s.entry); v != nil {
			out = append(append(append(out, `,"`...), s.message...), `":`...)
			out = append(out, v...)
		}
	}
	prompt := jsonx.Member(attachment, "prompt")
	if prompt == nil {
		prompt = []byte(`""`)
	}
	out = append(out, `,"message":{"role":"user","content":`...)
	out = append(out, prompt...)
	return append(out, "}}"...)
}
