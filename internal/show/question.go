package show

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// Question is a question of the model to the user, with the answer if there is
// one.
type Question struct {
	Text, Header, Answer string
	Many                 bool // several options may be chosen
	Options              []Option
}

// Option is a proposed answer.
type Option struct {
	Label, Description string
	Chosen             bool
}

// Questions returns the questions that a tool call asks, with the answers by
// their texts. It returns nil for other tools.
func Questions(tool string, input json.RawMessage, answers map[string]string) []Question {
	questions, err := (&permission.Request{ToolName: tool, Input: input}).Questions()
	if err != nil {
		return nil
	}
	var views []Question
	for _, q := range questions {
		view := Question{Text: q.Text, Header: q.Header, Many: q.MultiSelect}
		answer := answers[q.Text]
		chosen := strings.Split(answer, ", ")
		for _, o := range q.Options {
			picked := answer != "" && (answer == o.Label || q.MultiSelect && slices.Contains(chosen, o.Label))
			view.Options = append(view.Options, Option{o.Label, o.Description, picked})
		}
		if !slices.ContainsFunc(view.Options, func(o Option) bool { return o.Chosen }) {
			view.Answer = answer // in the words of the user
		}
		views = append(views, view)
	}
	return views
}
