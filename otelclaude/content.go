package otelclaude

import "encoding/json"

// cut returns a text without its secrets, and no longer than the limit.
func (s *session) cut(text string) string { return s.secrets.Text(text, s.limit) }

// cutJSON is cut for JSON.
func (s *session) cutJSON(line []byte) string { return s.secrets.JSON(line, s.limit) }

// clean returns the text of an error without content of the conversation, unless
// that is to be recorded: such texts repeat inputs.
func (s *session) clean(text string) string {
	if !s.content {
		return ""
	}
	return s.cut(text)
}

// messages returns a text in the conventions' form of messages.
func messages(role, text string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	out, err := json.Marshal([]message{{role, []part{{"text", text}}}})
	if err != nil { // texts always encode
		return ""
	}
	return string(out)
}
