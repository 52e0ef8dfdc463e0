package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// questionTool is the tool by which the model asks the user.
const questionTool = "AskUserQuestion"

// Question is one question from the model to the user, with the answers it
// proposes. Any other text is also a valid answer.
type Question struct {
	// Text is the question; answers are filed under it.
	Text string `json:"question"`
	// Header is a label of a word or two.
	Header string `json:"header,omitzero"`
	// Options are the proposed answers.
	Options []Option `json:"options"`
	// MultiSelect allows several options at once.
	MultiSelect bool `json:"multiSelect"`
}

// Option is one proposed answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
	// Preview shows what the option would lead to, in Markdown or HTML.
	Preview string `json:"preview,omitzero"`
}

// Questions returns the questions of an AskUserQuestion request. For any other
// tool it returns an error.
func (r *Request) Questions() ([]Question, error) {
	if r.ToolName != questionTool {
		return nil, fmt.Errorf("permission: %s asks no questions", r.ToolName)
	}
	var in struct {
		Questions []Question `json:"questions"`
	}
	if err := jsonx.Unmarshal(r.Input, &in); err != nil && !jsonx.Mismatch(err) {
		return nil, fmt.Errorf("permission: questions: %w", err)
	}
	if len(in.Questions) == 0 {
		return nil, errors.New("permission: the request holds no question")
	}
	return in.Questions, nil
}

// Answers collects the user's answers to the questions of one request. Its
// methods return the receiver, so that calls can be chained;
// [Answers.Decision] returns the first mistake. An Answers must not be used by
// several goroutines at once.
type Answers struct {
	request   *Request
	questions []Question
	answers   []string
	given     []bool
	err       error
}

// Answers starts the answer to an AskUserQuestion request:
//
//	return req.Answers().
//		Choose("Proceed?", "Yes").
//		ChooseAt(1, 0, 2).
//		Write("Which branch?", "the one I made yesterday").
//		Decision()
func (r *Request) Answers() *Answers {
	questions, err := r.Questions()
	return &Answers{
		request:   r,
		questions: questions,
		answers:   make([]string, len(questions)),
		given:     make([]bool, len(questions)),
		err:       err,
	}
}

// Choose answers the question with that text with one of its labels, or with
// several if the question allows it.
func (a *Answers) Choose(question string, labels ...string) *Answers {
	i, ok := a.find(question)
	if !ok {
		return a
	}
	q := a.questions[i]
	for _, label := range labels {
		if !slices.ContainsFunc(q.Options, func(o Option) bool { return o.Label == label }) {
			return a.fail("question %q has no option %q", question, label)
		}
	}
	return a.choose(i, labels)
}

// ChooseAt answers a question by index: the index of the question, then the
// index of the chosen option, or of several if the question allows it. All
// indexes start at 0.
func (a *Answers) ChooseAt(question int, options ...int) *Answers {
	if !a.inRange(question) {
		return a
	}
	q := a.questions[question]
	labels := make([]string, 0, len(options))
	for _, i := range options {
		if i < 0 || i >= len(q.Options) {
			return a.fail("question %q has no option %d", q.Text, i)
		}
		labels = append(labels, q.Options[i].Label)
	}
	return a.choose(question, labels)
}

// Write answers the question with that text in the user's own words.
func (a *Answers) Write(question, text string) *Answers {
	if i, ok := a.find(question); ok {
		a.answers[i], a.given[i] = text, true
	}
	return a
}

// WriteAt answers the question at an index, starting at 0, in the user's own
// words.
func (a *Answers) WriteAt(question int, text string) *Answers {
	if a.inRange(question) {
		a.answers[question], a.given[question] = text, true
	}
	return a
}

// Decision allows the tool call with the collected answers. It returns an
// error if a question has no answer.
func (a *Answers) Decision() (Decision, error) {
	for i, q := range a.questions {
		if !a.given[i] {
			a.fail("question %q has no answer", q.Text)
		}
	}
	if a.err != nil {
		return Decision{}, a.err
	}
	input, err := a.input()
	if err != nil {
		return Decision{}, fmt.Errorf("permission: answers: %w", err)
	}
	return AllowWith(input), nil
}

// input returns the original input with a member "answers". The questions must
// stay: the CLI checks the whole input against the tool's schema again.
func (a *Answers) input() (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := jsonx.Unmarshal(a.request.Input, &members); err != nil {
		return nil, err
	}
	answers, err := a.object()
	if err != nil {
		return nil, err
	}
	members["answers"] = answers
	return jsonx.Marshal(members)
}

// object files each answer under the question's text. The text is copied as
// JSON: decoding and encoding would change text that is not valid Unicode, and
// the CLI would no longer find the answer.
func (a *Answers) object() (json.RawMessage, error) {
	var in struct {
		Questions []struct {
			Text json.RawMessage `json:"question"`
		} `json:"questions"`
	}
	if err := jsonx.Unmarshal(a.request.Input, &in); err != nil {
		return nil, err
	}
	filed := make(map[string]string, len(a.answers))
	var b bytes.Buffer
	b.WriteByte('{')
	for i, answer := range a.answers {
		key := string(in.Questions[i].Text)
		if other, ok := filed[key]; ok {
			if other != answer {
				return nil, fmt.Errorf("question %s is asked twice and answered differently", key)
			}
			continue
		}
		filed[key] = answer
		value, err := jsonx.Marshal(answer)
		if err != nil {
			return nil, err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (a *Answers) choose(i int, labels []string) *Answers {
	q := a.questions[i]
	switch {
	case len(labels) == 0:
		return a.fail("question %q: no option chosen", q.Text)
	case len(labels) > 1 && !q.MultiSelect:
		return a.fail("question %q takes one option, got %d", q.Text, len(labels))
	}
	// The CLI takes one string per question; it shows an array without blanks.
	a.answers[i], a.given[i] = strings.Join(labels, ", "), true
	return a
}

func (a *Answers) find(text string) (int, bool) {
	i := slices.IndexFunc(a.questions, func(q Question) bool { return q.Text == text })
	if i < 0 {
		a.fail("no question %q", text)
	}
	return i, i >= 0
}

func (a *Answers) inRange(i int) bool {
	if i < 0 || i >= len(a.questions) {
		a.fail("no question %d, there are %d", i, len(a.questions))
		return false
	}
	return true
}

func (a *Answers) fail(format string, args ...any) *Answers {
	if a.err == nil {
		a.err = fmt.Errorf("permission: "+format, args...)
	}
	return a
}
