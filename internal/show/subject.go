package show

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Subject picks the member of a tool's input that says most.
func Subject(input json.RawMessage) string {
	for _, name := range []string{"command", "file_path", "path", "pattern", "query", "url", "prompt", "description"} {
		if text := jsonx.Text(jsonx.Member(input, name)); text != "" {
			return text
		}
	}
	var in struct {
		Questions []permission.Question `json:"questions"`
	}
	if jsonx.Unmarshal(input, &in) == nil && len(in.Questions) > 0 {
		return in.Questions[0].Text
	}
	return string(input)
}
