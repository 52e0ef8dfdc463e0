package takeover

import (
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
)

// question is one about the n-th call that was allowed, and ran.
func question(n int, by string) approval.Question {
	return approval.Question{
		ID: "q" + string(rune('0'+n)), ToolUseID: callID(n), State: approval.StateSettled, Outcome: approval.OutcomeRan,
		Answer: &approval.Answer{Decision: permission.Allow(), By: by},
	}
}

// good is a run in which a person allowed a call, it ran, and its result was lost: the model
// has read that its outcome is unknown.
func good() *Story {
	q := question(1, "ada")
	q.Outcome = approval.OutcomeUnknown
	return &Story{
		Gate: Person, Killed: true,
		Calls: []Call{{N: 1, ID: callID(1)}}, Effects: []int{1},
		Questions: []approval.Question{q}, Decided: []string{q.ID},
		Tickets: []fleet.Ticket{{Status: fleet.PromptAnswered, Text: unknownText}, {Status: fleet.PromptAnswered, Text: afterText}},
		Last:    callID(1) + callID(2),
		Said:    []string{workPrompt, "something", unknownText, afterPrompt},
	}
}

// twice adds a second call, with its question and effect.
func twice(s *Story, knew ...string) {
	s.Calls = append(s.Calls, Call{N: 2, ID: callID(2), Knew: knew})
	s.Questions = append(s.Questions, question(2, "ada"))
	s.Effects = append(s.Effects, 2)
}

func TestJudgeGood(t *testing.T) {
	for name, change := range map[string]func(*Story){
		"as it is":                     func(*Story) {},
		"again, after reading of it":   func(s *Story) { twice(s, callID(1)) },
		"nobody is asked":              func(s *Story) { s.Gate, s.Questions, s.Decided = NoGate, nil, nil },
		"lost before anybody decided":  func(s *Story) { lose(s); s.Questions[0].Answer, s.Decided = nil, nil },
		"decided, lost, and said so":   func(s *Story) { lose(s); s.Questions[0].Unused = "The call was lost." },
		"denied without a decision":    func(s *Story) { s.Effects = nil },
		"the process was not killed":   func(s *Story) { s.Killed = false },
		"the model gave up in the end": func(s *Story) { s.Tickets[0].Text, s.Said[2] = gaveUpText, gaveUpText },
	} {
		s := good()
		if change(s); len(Judge(s).Wrong) > 0 {
			t.Errorf("%s: %q", name, Judge(s).Wrong)
		}
	}
	s := good()
	lose(s)
	s.Questions[0].Unused = "The call was lost."
	if v := Judge(s); v.Anew != 1 || v.Unused != 1 || !v.Told {
		t.Errorf("counted %+v", v)
	}
}

// lose has the first call lost before it was let go; the model makes another one.
func lose(s *Story) {
	s.Effects = nil
	s.Questions[0].State, s.Questions[0].Outcome = approval.StateGone, approval.OutcomeWithdrawn
	twice(s)
}

// Each fault is planted, and the judge names it.
func TestJudgePlanted(t *testing.T) {
	for _, c := range []struct {
		fault string
		plant func(*Story)
		want  string
	}{
		{"an effect twice", func(s *Story) { s.Effects = []int{1, 1} }, "call 1 had its effect twice"},
		{"an effect by another call", func(s *Story) { twice(s) }, "call 2 had the effect of call 1 again"},
		{"an effect that the model forgets", func(s *Story) { s.Last = "" }, "does not know of it"},
		{"an effect that nothing allowed", func(s *Story) { s.Questions[0].Answer = nil; s.Decided = nil }, "nothing allowed it"},
		{"an effect of a denied call", func(s *Story) { s.Questions[0].Outcome = approval.OutcomeDenied }, "nothing allowed it"},
		{"an effect without a call", func(s *Story) { s.Effects = []int{7} }, "the model did not make it"},
		{"a question twice", func(s *Story) { s.Questions = append(s.Questions, s.Questions[0]) }, "asked twice about call 1"},
		{"a question after the call was let go", func(s *Story) { s.Effects = nil; twice(s) }, "which was let go"},
		{"a question about nothing", func(s *Story) { s.Questions[0].ToolUseID = "toolu_other" }, "which the model did not call"},
		{"an open question", func(s *Story) { s.Questions[0].State = approval.StateOpen }, "still open"},
		{"a decision that hangs", func(s *Story) { s.Questions[0].State = approval.StateDecided }, "still decided"},
		{"a question that lies", func(s *Story) { s.Effects = nil; s.Questions[0].Outcome = approval.OutcomeRan }, "and it did not"},
		{"a lost decision", func(s *Story) { lose(s); s.Questions[0].Answer = nil }, "was taken, and is lost"},
		{"a lost question", func(s *Story) { s.Questions, s.Gate = nil, NoGate }, "is gone"},
		{"an unused decision", func(s *Story) { lose(s) }, "does not say why"},
		{"a lost prompt", func(s *Story) { s.Tickets[1] = fleet.Ticket{Status: fleet.PromptQueued} }, "prompt 2 is queued"},
		{"a failed prompt", func(s *Story) { s.Tickets[0].Status = fleet.PromptFailed }, "prompt 1 is failed"},
		{"a wrong answer", func(s *Story) { s.Tickets[0].Text = afterText }, "prompt 1 is answered"},
		{"two answers", func(s *Story) { s.Said = slices.Insert(s.Said, 3, madeText) }, "the model has heard"},
		{"a prompt twice", func(s *Story) { s.Said = slices.Insert(s.Said, 0, workPrompt) }, "the model has heard"},
		{"prompts out of order", func(s *Story) { s.Said[0], s.Said[3] = s.Said[3], s.Said[0] }, "the model has heard"},
		{"a process", func(s *Story) { s.Left = []string{"17 claude"} }, "process 17 claude"},
	} {
		s := good()
		c.plant(s)
		if got := strings.Join(Judge(s).Wrong, "; "); !strings.Contains(got, c.want) {
			t.Errorf("%s: the judge says %q, want %q", c.fault, got, c.want)
		}
	}
}

// The writes that are chosen are different ones in each run, and all of them if wanted.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n, count, run int
		want          []int
	}{
		{4, -1, 0, []int{1, 2, 3, 4}}, {4, -1, 1, []int{2, 3, 4, 1}}, {10, 2, 0, []int{1, 6}}, {10, 2, 7, []int{8, 3}}, {3, 9, 0, []int{1, 2, 3}}, {0, 2, 0, nil},
	} {
		if got := spread(c.n, c.count, c.run); !slices.Equal(got, c.want) {
			t.Errorf("spread(%d, %d, %d) = %v, want %v", c.n, c.count, c.run, got, c.want)
		}
	}
}
