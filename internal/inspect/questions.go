package inspect

import (
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
)

// questionsOf returns the questions that a tool call asks, with their answers;
// nil for other tools.
func questionsOf(t *Tool) []show.Question {
	answers := make(map[string]string)
	for _, x := range t.Asked {
		if x.Kind == KindPermission {
			_ = jsonx.Unmarshal(jsonx.Member(jsonx.Member(x.reply, "updatedInput"), "answers"), &answers) // what fits is enough
		}
	}
	return show.Questions(t.Name, t.Input, answers)
}
