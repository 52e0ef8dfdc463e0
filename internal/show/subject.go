package show

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// About returns the member of a tool's input that people know the call by, empty if it
// has none of those that are known to say so.
func About(input json.RawMessage) string {
	for _, name := range []string{"command", "file_path", "notebook_path", "pattern", "path", "query", "url", "description", "prompt"} {
		if text := jsonx.Text(jsonx.Member(input, name)); text != "" {
			return text
		}
	}
	return ""
}

// Subject describes a tool call: by the result of [About], the first question that
// it asks, or all of its input.
func Subject(input json.RawMessage) string {
	if text := About(input); text != "" {
		return text
	}
	var in struct {
		Questions []permission.Question `json:"questions"`
	}
	if jsonx.Unmarshal(input, &in) == nil && len(in.Questions) > 0 {
		return in.Questions[0].Text
	}
	return string(input)
}
