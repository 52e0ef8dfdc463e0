package takeover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
)

// Story holds the observations of a run.
type Story struct {
	Gate    Gate
	Killed  bool   // the first process came to its moment
	Calls   []Call // that the model has made
	Effects []int  // the numbers of calls, in the order of their effects
	// Questions are all questions of the conversation, and Decided the ids of those whose
	// decision the person was told is taken.
	Questions []approval.Question
	Decided   []string
	Tickets   []fleet.Ticket // of both prompts
	// Last is the last request to the model, and Said the texts of the conversation
	// in it, without those that the CLI has put around them.
	Last string
	Said []string
	Left []string // processes
}

// Verdict is the judgement about a run.
type Verdict struct {
	Wrong  []string // what must not happen
	Told   bool     // the model read that the outcome of a call is unknown
	Again  int      // effects of calls that the model made although it had read of an earlier one
	Anew   int      // questions that came in the place of one that was withdrawn
	Unused int      // decisions that were not used, and whose questions say why
}

// Judge compares a story with the rules of the package.
func Judge(s *Story) *Verdict {
	v := new(Verdict)
	v.effects(s)
	v.questions(s)
	v.decisions(s)
	v.answers(s)
	for _, p := range s.Left {
		v.wrong("left behind: process %s", p)
	}
	return v
}

func (v *Verdict) wrong(format string, args ...any) {
	v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...))
}

// call returns the call with a number.
func (s *Story) call(n int) (Call, bool) {
	i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.N == n })
	if i < 0 {
		return Call{}, false
	}
	return s.Calls[i], true
}

// effects judges what ran.
func (v *Verdict) effects(s *Story) {
	for i, n := range s.Effects {
		c, made := s.call(n)
		switch {
		case !made:
			v.wrong("call %d had its effect, and the model did not make it", n)
			continue
		case slices.Contains(s.Effects[:i], n):
			v.wrong("call %d had its effect twice", n)
			continue
		case !strings.Contains(s.Last, c.ID):
			v.wrong("call %d had its effect, and the model does not know of it", n)
		}
		for _, before := range s.Effects[:i] {
			if earlier, _ := s.call(before); !slices.Contains(c.Knew, earlier.ID) {
				v.wrong("call %d had the effect of call %d again, and the model had not read that its outcome is unknown, but %q", n, before, c.Read)
				continue
			}
			v.Again++
		}
		if s.Gate != NoGate && !s.allowed(c.ID) {
			v.wrong("call %d had its effect, and nothing allowed it", n)
		}
	}
}

// allowed reports whether a decision let a call go.
func (s *Story) allowed(id string) bool {
	return slices.ContainsFunc(s.Questions, func(q approval.Question) bool {
		return q.ToolUseID == id && q.Answer != nil && q.Answer.Decision.Behavior() == permission.BehaviorAllow && letGo(q)
	})
}

// letGo reports whether the call of a question has learned that it may run.
func letGo(q approval.Question) bool {
	return q.State == approval.StateReleased ||
		q.State == approval.StateSettled && slices.Contains([]approval.Outcome{approval.OutcomeRan, approval.OutcomeFailed, approval.OutcomeUnknown, approval.OutcomeAllowed}, q.Outcome)
}

// questions judges what people were asked.
func (v *Verdict) questions(s *Story) {
	for i, q := range s.Questions {
		at := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == q.ToolUseID })
		if at < 0 {
			v.wrong("asked about %s, which the model did not call", q.ToolUseID)
			continue
		}
		if slices.ContainsFunc(s.Questions[:i], func(o approval.Question) bool { return o.ToolUseID == q.ToolUseID }) {
			v.wrong("asked twice about call %d", s.Calls[at].N)
		}
		anew := false
		for _, o := range s.Questions {
			if o.ToolUseID >= q.ToolUseID || slices.Contains(s.Calls[at].Knew, o.ToolUseID) {
				continue
			}
			if anew = true; letGo(o) {
				v.wrong("asked about call %d, which the model made because it did not know of %s, which was let go", s.Calls[at].N, o.ToolUseID)
			}
		}
		if anew {
			v.Anew++
		}
		ran := slices.Contains(s.Effects, s.Calls[at].N)
		switch {
		case q.State != approval.StateSettled && q.State != approval.StateGone:
			v.wrong("the question about call %d is still %s", s.Calls[at].N, q.State)
		case q.Outcome == approval.OutcomeRan && !ran:
			v.wrong("the question says that call %d ran, and it did not", s.Calls[at].N)
		}
		v.Told = v.Told || q.Outcome == approval.OutcomeUnknown
	}
}

// decisions judges whether decisions were used.
func (v *Verdict) decisions(s *Story) {
	for _, q := range s.Questions {
		switch {
		case q.Answer == nil && slices.Contains(s.Decided, q.ID):
			v.wrong("the decision about %s was taken, and is lost", q.ToolUseID)
		case q.Answer == nil:
		case q.Unused != "" && !letGo(q):
			v.Unused++
		case q.State == approval.StateGone:
			v.wrong("the decision about %s was not used, and its question does not say why", q.ToolUseID)
		}
	}
	for _, id := range s.Decided {
		if !slices.ContainsFunc(s.Questions, func(q approval.Question) bool { return q.ID == id }) {
			v.wrong("the question %s, which was decided, is gone", id)
		}
	}
}

// answers judges how the prompts ended.
func (v *Verdict) answers(s *Story) {
	final := []string{madeText, unknownText, gaveUpText}
	for i, t := range s.Tickets {
		want := final
		if i == 1 {
			want = []string{afterText}
		}
		if t.Status != fleet.PromptAnswered || !slices.Contains(want, t.Text) {
			v.wrong("prompt %d is %s: %q %s", i+1, t.Status, t.Text, t.Error)
		}
		v.Told = v.Told || t.Text == unknownText
	}
	var order []string
	for _, text := range s.Said {
		if text == workPrompt || text == afterPrompt || slices.Contains(final, text) {
			order = append(order, text)
		}
	}
	if len(order) != 3 || order[0] != workPrompt || !slices.Contains(final, order[1]) || order[2] != afterPrompt {
		v.wrong("the model has heard %q", order)
	}
}
