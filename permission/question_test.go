package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

const questions = `{"questions":[` +
	`{"question":"Proceed?","header":"Confirm","options":[{"label":"Yes","description":"go"},{"label":"No","description":"stop","preview":"# p"}],"multiSelect":false},` +
	`{"question":"Which?","header":"Pick","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multiSelect":true}],"metadata":{"n":1.50}}`

func ask(input string) *permission.Request {
	return &permission.Request{ToolName: "AskUserQuestion", Input: json.RawMessage(input), ToolUseID: "t"}
}

func TestQuestions(t *testing.T) {
	got, err := ask(questions).Questions()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Text != "Proceed?" || got[0].Header != "Confirm" || got[0].MultiSelect ||
		!got[1].MultiSelect || got[0].Options[1] != (permission.Option{Label: "No", Description: "stop", Preview: "# p"}) {
		t.Errorf("got %+v", got)
	}
	odd, err := ask(`{"questions":[{"question":"Q","header":7,"options":[{"label":"a"}]}]}`).Questions()
	if err != nil || len(odd) != 1 || odd[0].Text != "Q" || odd[0].Header != "" {
		t.Errorf("a field of another kind: %+v, %v, want the others", odd, err)
	}
	for _, req := range []*permission.Request{
		{ToolName: "Bash", Input: json.RawMessage(questions)}, ask(`{}`), ask(`{"questions":[]}`), ask(``), ask(`{"questions":"x"}`),
	} {
		if got, err := req.Questions(); err == nil {
			t.Errorf("Questions of %s %s = %+v, want an error", req.ToolName, req.Input, got)
		}
	}
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name    string
		answers func(*permission.Answers) *permission.Answers
		want    string
	}{
		{"by text", func(a *permission.Answers) *permission.Answers {
			return a.Choose("Proceed?", "Yes").Choose("Which?", "A", "B")
		}, `{"Proceed?":"Yes","Which?":"A, B"}`},
		{"by index", func(a *permission.Answers) *permission.Answers {
			return a.ChooseAt(1, 1).ChooseAt(0, 1)
		}, `{"Proceed?":"No","Which?":"B"}`},
		{"free text", func(a *permission.Answers) *permission.Answers {
			return a.Write("Proceed?", "only \"half\"").WriteAt(1, "neither")
		}, `{"Proceed?":"only \"half\"","Which?":"neither"}`},
		{"the last answer counts", func(a *permission.Answers) *permission.Answers {
			return a.ChooseAt(0, 0).ChooseAt(1, 0).Choose("Proceed?", "No")
		}, `{"Proceed?":"No","Which?":"A"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := ask(questions)
			d, err := tt.answers(req.Answers()).Decision()
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Reply(req)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"behavior":"allow","updatedInput":{"answers":` + tt.want + `,"metadata":{"n":1.50},` +
				strings.TrimSuffix(questions[1:], `,"metadata":{"n":1.50}}`) + `},"toolUseID":"t"}`
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAnswersMistakes(t *testing.T) {
	tests := []struct {
		name    string
		answers func(*permission.Answers) *permission.Answers
		want    string
	}{
		{"nothing", func(a *permission.Answers) *permission.Answers { return a }, `"Proceed?" has no answer`},
		{"one missing", func(a *permission.Answers) *permission.Answers { return a.ChooseAt(0, 0) }, `"Which?" has no answer`},
		{"unknown question", func(a *permission.Answers) *permission.Answers { return a.Choose("Why?", "Yes") }, `no question "Why?"`},
		{"unknown question written", func(a *permission.Answers) *permission.Answers { return a.Write("Why?", "x") }, `no question "Why?"`},
		{"question index", func(a *permission.Answers) *permission.Answers { return a.ChooseAt(2, 0) }, `no question 2`},
		{"negative index", func(a *permission.Answers) *permission.Answers { return a.WriteAt(-1, "x") }, `no question -1`},
		{"option index", func(a *permission.Answers) *permission.Answers { return a.ChooseAt(0, 2) }, `no option 2`},
		{"unknown label", func(a *permission.Answers) *permission.Answers { return a.Choose("Proceed?", "yes") }, `no option "yes"`},
		{"too many", func(a *permission.Answers) *permission.Answers { return a.Choose("Proceed?", "Yes", "No") }, `takes one option`},
		{"none chosen", func(a *permission.Answers) *permission.Answers { return a.ChooseAt(1) }, `no option chosen`},
		{"the first mistake stays", func(a *permission.Answers) *permission.Answers {
			return a.ChooseAt(9, 0).ChooseAt(0, 0).ChooseAt(1, 0)
		}, `no question 9`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := tt.answers(ask(questions).Answers()).Decision()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
			if d.Behavior() != "" {
				t.Errorf("decision = %q, want none", d.Behavior())
			}
		})
	}
	if _, err := new(permission.Request).Answers().WriteAt(0, "x").Decision(); err == nil {
		t.Error("answers to another tool: no error")
	}
}

func TestAnswersKeepTheQuestionsBytes(t *testing.T) {
	req := ask(`{"questions":[{"question":"\ud83d\u003f","options":[{"label":"a"}]}]}`)
	d, err := req.Answers().ChooseAt(0, 0).Decision()
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Reply(req)
	want := `{"behavior":"allow","updatedInput":{"answers":{"\ud83d\u003f":"a"},"questions":[{"question":"\ud83d\u003f","options":[{"label":"a"}]}]},"toolUseID":"t"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestAnswersToTheSameText(t *testing.T) {
	twice := `{"questions":[{"question":"Q","options":[{"label":"a"},{"label":"b"}]},{"question":"Q","options":[{"label":"a"}]}]}`
	if _, err := ask(twice).Answers().ChooseAt(0, 0).ChooseAt(1, 0).Decision(); err != nil {
		t.Errorf("the same answer twice: %v", err)
	}
	if _, err := ask(twice).Answers().ChooseAt(0, 1).ChooseAt(1, 0).Decision(); err == nil {
		t.Error("two answers under one text: no error")
	}
}
