package serve

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// The state and the kind that people see, for every state of a question.
func TestStateOfQuestion(t *testing.T) {
	t.Parallel()
	allow, deny := &approval.Answer{Decision: permission.Allow()}, &approval.Answer{Decision: permission.Deny("no")}
	for _, c := range []struct {
		q    approval.Question
		want api.ApprovalState
	}{
		{approval.Question{State: approval.StateOpen}, api.ApprovalPending},
		{approval.Question{State: approval.StateDecided, Answer: allow}, api.ApprovalAllowed},
		{approval.Question{State: approval.StateDecided, Answer: deny}, api.ApprovalDenied},
		{approval.Question{State: approval.StateSettled, Answer: allow, Outcome: approval.OutcomeRan}, api.ApprovalAllowed},
		{approval.Question{State: approval.StateSettled, Answer: deny, Tool: "AskUserQuestion"}, api.ApprovalDenied},
		{approval.Question{State: approval.StateSettled, Answer: allow, Tool: "AskUserQuestion"}, api.ApprovalAnswered},
		{approval.Question{State: approval.StateDecided, Answer: allow, Tool: approval.ElicitationTool}, api.ApprovalAnswered},
		{approval.Question{State: approval.StateDecided, Answer: allow, Tool: "ExitPlanMode"}, api.ApprovalAllowed},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeExpired}, api.ApprovalExpired},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeWithdrawn}, api.ApprovalWithdrawn},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeSuperseded}, api.ApprovalWithdrawn},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeExpired, Answer: allow}, api.ApprovalExpired},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeWithdrawn, Answer: allow}, api.ApprovalWithdrawn},
	} {
		if got := stateOf(&c.q); got != c.want {
			t.Errorf("%s %s, %+v: %q, want %q", c.q.State, c.q.Outcome, c.q.Answer, got, c.want)
		}
		if got := approvalOf(&c.q, api.User{Name: "ada", Role: api.RoleAdmin}); got.State != c.want || got.MayDecide != (c.want == api.ApprovalPending) {
			t.Errorf("%s: %q, may decide: %v", c.q.State, got.State, got.MayDecide)
		}
	}
	for tool, want := range map[string]api.ApprovalKind{
		"Bash": api.KindTool, "AskUserQuestion": api.KindQuestion, "ExitPlanMode": api.KindPlan, approval.ElicitationTool: api.KindElicitation, "mcp__a__ExitPlanMode": api.KindTool, "": api.KindTool,
	} {
		if got := kindOf(tool); got != want {
			t.Errorf("%q is a %q", tool, got)
		}
	}
}

// An approval shows every member of its question that people need, and only those whom
// the question names may decide.
func TestApprovalOfQuestion(t *testing.T) {
	t.Parallel()
	asked, until, at := time.Unix(100, 0), time.Unix(200, 0), time.Unix(150, 0)
	q := approval.Question{
		ID: "q1", Conversation: "ada/1", Tool: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(`{"command":"make  it\nnow"}`), Digest: "d1", Cwd: "/srv", Agent: "a1",
		HoldsProcess: true, Reason: "a rule", Diff: "--- a", Suggestions: []string{"Bash(make:*)", "Bash(make it)"}, Plan: "p", PlanPath: "/plan.md",
		Deciders: []string{"ada", "bob"}, State: approval.StateOpen, Asked: asked, Deadline: until, Deferred: true, Unused: "late", Successor: "q2",
	}
	want := api.Approval{
		ID: "q1", Conversation: "ada~1", Kind: api.KindTool, Tool: "Bash", ToolUseID: "toolu_1", Title: "make it now", Reason: "a rule", Input: q.Input, Digest: "d1", Dir: "/srv", Diff: "--- a",
		Plan: "p", PlanPath: "/plan.md", Suggestions: []string{"Bash(make:*)", "Bash(make it)"}, AgentID: "a1", HoldsProcess: true, Deferred: true, AskedAt: asked, ExpiresAt: until,
		State: api.ApprovalPending, Unused: "late", Successor: "q2", MayDecide: true,
	}
	if got := approvalOf(&q, api.User{Name: "ada", Role: api.RoleApprover}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	for _, u := range []api.User{{Name: "ada", Role: api.RoleViewer}, {Name: "eve", Role: api.RoleAdmin}, {}} {
		if approvalOf(&q, u).MayDecide {
			t.Errorf("%+v may decide", u)
		}
	}
	q.State, q.Outcome = approval.StateSettled, approval.OutcomeDenied
	q.Answer = &approval.Answer{By: "bob", At: at, Rule: "Bash(make:*)", Decision: permission.Deny("not now")}
	got := approvalOf(&q, api.User{Name: "ada", Role: api.RoleApprover})
	if got.DecidedBy != "bob" || !got.DecidedAt.Equal(at) || got.Rule != "Bash(make:*)" || got.Message != "not now" || got.Outcome != api.OutcomeDenied || got.MayDecide || got.State != api.ApprovalDenied {
		t.Errorf("%+v", got)
	}
	if got := approvalOf(&approval.Question{}, api.User{}); got.Suggestions == nil {
		t.Error("without suggestions the list is null")
	}
}

// Approvals are found by each filter, and by any text that their conversation, tool or
// question has, in upper or lower case.
func TestSelectsApproval(t *testing.T) {
	t.Parallel()
	questions := json.RawMessage(`{"questions":[{"question":"Which colour?","options":[{"label":"Blue"},{"label":"Red"}]},{"question":"Which Size?","options":[{"label":"S"},{"label":"L"}]}]}`)
	n := note{Preset: "shop", Title: "Mend the Till"}
	for name, q := range map[string]approval.Question{
		"bash": {Tool: "Bash", Input: json.RawMessage(`{"command":"make ALL"}`)},
		"ask":  {Tool: "AskUserQuestion", Input: questions},
		"plan": {Tool: "ExitPlanMode", Plan: "First dig, then Fill"},
		"form": {Tool: approval.ElicitationTool, Reason: "Your Address?"},
		"odd":  {Tool: "Odd", Input: json.RawMessage(`{}`)},
	} {
		a := approvalOf(&q, api.User{})
		has := map[string][]string{
			"bash": {"make all", "BASH", "till"}, "ask": {"colour", "which size", "askuser"}, "plan": {"then fill", "begin with this plan", "exitplan"},
			"form": {"your address"}, "odd": {"odd", "MEND"},
		}[name]
		for _, text := range []string{"make all", "BASH", "till", "colour", "which size", "askuser", "then fill", "begin with this plan", "exitplan", "your address", "odd", "MEND"} {
			want := slices.Contains(has, text) || text == "till" || text == "MEND"
			if got := selectsApproval(&api.ApprovalQuery{Text: text}, &a, &q, &n); got != want {
				t.Errorf("%q selects %s: %v", text, name, got)
			}
		}
		for _, c := range []struct {
			query api.ApprovalQuery
			want  bool
		}{
			{api.ApprovalQuery{}, true},
			{api.ApprovalQuery{State: a.State, Kind: a.Kind, Preset: "shop", Text: "till"}, true},
			{api.ApprovalQuery{State: api.ApprovalDenied}, false},
			{api.ApprovalQuery{Kind: "other"}, false},
			{api.ApprovalQuery{Preset: "sho"}, false},
			{api.ApprovalQuery{State: a.State, Kind: a.Kind, Preset: "shop", Text: "nowhere"}, false},
		} {
			if got := selectsApproval(&c.query, &a, &q, &n); got != c.want {
				t.Errorf("%+v selects %s: %v", c.query, name, got)
			}
		}
	}
	if got := titleOf(&approval.Question{Tool: "ExitPlanMode", Plan: "dig"}); got != "Begin with this plan?" {
		t.Errorf("the title of a plan is %q", got)
	}
	if got := titleOf(&approval.Question{Tool: "AskUserQuestion", Input: questions}); got != "Which colour?" {
		t.Errorf("the title of questions is %q", got)
	}
	if got := titleOf(&approval.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"x":`)}); got == "" {
		t.Error("questions that cannot be read have no title")
	}
}

// Each decision becomes the answer that it says, with the digest that was shown and the
// rules that were chosen; what does not fit is refused.
func TestAnswerOfDecision(t *testing.T) {
	t.Parallel()
	ada := api.User{Name: "ada"}
	questions := json.RawMessage(`{"questions":[{"question":"Colour?","options":[{"label":"Blue"},{"label":"Red"}]}]}`)
	form := json.RawMessage(`{"mode":"form","message":"m","requested_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)
	tools := map[string]approval.Question{
		"tool": {Tool: "Bash", Suggestions: []string{"A", "B", "C"}}, "ask": {Tool: "AskUserQuestion", Input: questions}, "plan": {Tool: "ExitPlanMode"},
		"form": {Tool: approval.ElicitationTool, Input: form},
	}
	for _, c := range []struct {
		on   string
		d    api.Decision
		want string // of the answer: what it decides, its message, the input, the rules; empty: refused
	}{
		{"tool", api.Decision{Decision: api.DecideAllow}, "allow"},
		{"plan", api.Decision{Decision: api.DecideAllow}, "allow"},
		{"tool", api.Decision{Decision: api.DecideAllow, Input: json.RawMessage(`{"a":1}`)}, `allow {"a":1}`},
		{"tool", api.Decision{Decision: api.DecideAllow, Remember: []int{2, 0}}, "allow always C,A"},
		{"tool", api.Decision{Decision: api.DecideAllow, Remember: []int{3}}, ""},
		{"tool", api.Decision{Decision: api.DecideAllow, Remember: []int{-1}}, ""},
		{"plan", api.Decision{Decision: api.DecideAllow, Remember: []int{0}}, ""},
		{"tool", api.Decision{Decision: api.DecideDeny}, "deny: ada does not allow this."},
		{"tool", api.Decision{Decision: api.DecideDeny, Message: "no"}, "deny: no"},
		{"tool", api.Decision{Decision: api.DecideDeny, Input: json.RawMessage(`{"a":1}`)}, "deny: ada does not allow this."},
		{"tool", api.Decision{Decision: api.DecideDeny, Stop: true}, "deny: ada does not allow this. stop"},
		{"tool", api.Decision{Decision: api.DecideDeny, Stop: true, Message: "no"}, "deny: no stop"},
		{"ask", api.Decision{Decision: api.DecideDeny}, "deny: ada does not allow this."},
		{"form", api.Decision{Decision: api.DecideDeny}, "deny: ada does not allow this."},
		{"tool", api.Decision{Decision: api.DecideAnswer}, ""},
		{"plan", api.Decision{Decision: api.DecideAnswer, Input: json.RawMessage(`{}`)}, ""},
		{"ask", api.Decision{Decision: api.DecideAllow}, ""},
		{"ask", api.Decision{Decision: api.DecideAllow, Input: json.RawMessage(`{"b":2}`)}, `allow {"b":2}`},
		{"ask", api.Decision{Decision: api.DecideAnswer, Input: json.RawMessage(`{"b":2}`)}, `allow {"b":2}`},
		{"form", api.Decision{Decision: api.DecideAnswer, Input: json.RawMessage(`{"n":1}`)}, `allow {"n":1}`},
		{"form", api.Decision{Decision: api.DecideAllow, Input: json.RawMessage(`{"n":1}`)}, `allow {"n":1}`},
		{"form", api.Decision{Decision: api.DecideAnswer, Input: json.RawMessage(`{"n":"1"}`)}, ""},
		{"form", api.Decision{Decision: api.DecideAnswer}, ""},
	} {
		q := tools[c.on]
		c.d.Digest = "d1"
		a, err := answerOf(&c.d, &q, ada)
		if c.want == "" {
			if !badRequest.is(err) {
				t.Errorf("%s, %+v: %+v, %v", c.on, c.d, a, err)
			}
			continue
		}
		got := string(a.Decision.Behavior())
		if a.Decision.Message() != "" {
			got += ": " + a.Decision.Message()
		}
		if input, changed := a.Decision.Input(); changed {
			data, _ := json.Marshal(input)
			got += " " + string(data)
		}
		if a.Decision.Interrupts() {
			got += " stop"
		}
		if len(a.Always) > 0 {
			got += " always " + strings.Join(a.Always, ",")
		}
		if err != nil || got != c.want || a.By != "ada" || a.Digest != "d1" {
			t.Errorf("%s, %+v: %q by %q about %q, %v; want %q", c.on, c.d, got, a.By, a.Digest, err, c.want)
		}
	}
	odd := approval.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":1}`)}
	if _, err := answerOf(&api.Decision{Decision: api.DecideAnswer, Answers: []api.QuestionAnswer{{Write: "x"}}}, &odd, ada); !badRequest.is(err) {
		t.Errorf("questions that cannot be read: %v", err)
	}
}
