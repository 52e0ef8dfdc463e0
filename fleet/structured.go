package fleet

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/message"
)

// structuredCalls finds structured answers in a transcript: the inputs of accepted
// calls of the CLI's tool for them. One that does not follow the schema has an error as
// its result, and the model tries again.
type structuredCalls map[string]json.RawMessage

// structuredTool is the tool with which the model gives its structured answer.
const structuredTool = "StructuredOutput"

// note takes note of calls.
func (s *structuredCalls) note(m *message.Assistant) {
	for _, use := range m.ToolUses() {
		if use.Name != structuredTool {
			continue
		}
		if *s == nil {
			*s = make(structuredCalls)
		}
		(*s)[use.ID] = use.Input
	}
}

// accepted returns the structured answer whose result is in a message, nil if it has
// none.
func (s structuredCalls) accepted(m *message.User) json.RawMessage {
	for _, r := range m.ToolResults() {
		if input := s[r.ToolUseID]; input != nil && !r.IsError {
			return input
		}
	}
	return nil
}
