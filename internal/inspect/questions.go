package inspect

import (
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// questionView is a question of the model to the user, with the answer.
type questionView struct {
	Text, Answer string
	Options      []optionView
}

type optionView struct {
	Label, Description string
	Chosen             bool
}

// questionsOf returns the questions that a tool call asks, nil for other tools.
func questionsOf(t *Tool) []questionView {
	questions, err := (&permission.Request{ToolName: t.Name, Input: t.Input}).Questions()
	if err != nil {
		return nil
	}
	answers := make(map[string]string)
	for _, x := range t.Asked {
		if x.Kind == KindPermission {
			_ = jsonx.Unmarshal(jsonx.Member(jsonx.Member(x.reply, "updatedInput"), "answers"), &answers) // what fits is enough
		}
	}
	var views []questionView
	for _, q := range questions {
		view := questionView{Text: q.Text}
		answer := answers[q.Text]
		chosen := strings.Split(answer, ", ")
		for _, o := range q.Options {
			picked := answer != "" && (answer == o.Label || q.MultiSelect && slices.Contains(chosen, o.Label))
			view.Options = append(view.Options, optionView{o.Label, o.Description, picked})
		}
		if !slices.ContainsFunc(view.Options, func(o optionView) bool { return o.Chosen }) {
			view.Answer = answer // in the words of the user
		}
		views = append(views, view)
	}
	return views
}
