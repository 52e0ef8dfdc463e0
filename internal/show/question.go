package show

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/permission"
)

// Question is a question of the model to the user, with the answer if there is
// one. Its texts are fit to be shown.
type Question struct {
	Text, Header, Answer string
	Many                 bool // several options may be chosen
	Cut                  bool // not all of its texts are shown
	Options              []Option
}

// Option is a proposed answer.
type Option struct {
	Label, Description string
	Value              string // the label as the model wrote it, to answer with
	Chosen             bool
	Cut                bool // not all of its label is shown
}

// How much is shown of the texts of a question.
const (
	longText  = 16 << 10
	longLabel = 1 << 10
)

// Questions returns the questions that a tool call asks, with the answers by
// their texts. It returns nil for other tools.
func Questions(tool string, input json.RawMessage, answers map[string]string) []Question {
	questions, err := (&permission.Request{ToolName: tool, Input: input}).Questions()
	if err != nil {
		return nil
	}
	var views []Question
	for _, q := range questions {
		view := Question{Text: terminal.Clean(Head(q.Text, longText)), Many: q.MultiSelect, Cut: len(q.Text) > longText}
		view.Header, _ = Line(q.Header, longLabel)
		answer := answers[q.Text]
		chosen := strings.Split(answer, ", ")
		for _, o := range q.Options {
			picked := answer != "" && (answer == o.Label || q.MultiSelect && slices.Contains(chosen, o.Label))
			option, more := Option{Value: o.Label, Chosen: picked}, false
			option.Label, option.Cut = Line(o.Label, longLabel)
			option.Description, more = Line(o.Description, longLabel)
			view.Cut = view.Cut || option.Cut || more
			view.Options = append(view.Options, option)
		}
		if !slices.ContainsFunc(view.Options, func(o Option) bool { return o.Chosen }) {
			view.Answer = terminal.Clean(Head(answer, longText)) // in the words of the user
		}
		views = append(views, view)
	}
	return views
}
