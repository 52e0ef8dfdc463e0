package serve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// kindOf returns the kind of approval that a question is.
func kindOf(tool string) api.ApprovalKind {
	switch tool {
	case "AskUserQuestion":
		return api.KindQuestion
	case "ExitPlanMode":
		return api.KindPlan
	case approval.ElicitationTool:
		return api.KindElicitation
	}
	return api.KindTool
}

// stateOf returns the state of a question.
func stateOf(q *approval.Question) api.ApprovalState {
	switch {
	case q.State == approval.StateGone && q.Outcome == approval.OutcomeExpired:
		return api.ApprovalExpired
	case q.State == approval.StateGone:
		return api.ApprovalWithdrawn
	case q.Answer == nil:
		return api.ApprovalPending
	case q.Answer.Decision.Behavior() != permission.BehaviorAllow:
		return api.ApprovalDenied
	case kindOf(q.Tool) == api.KindQuestion || kindOf(q.Tool) == api.KindElicitation:
		return api.ApprovalAnswered
	}
	return api.ApprovalAllowed
}

// selectsApproval reports whether a query selects an approval, given the question that
// it was made of and the note of its conversation.
func selectsApproval(q *api.ApprovalQuery, a *api.Approval, question *approval.Question, n *note) bool {
	return (q.State == "" || q.State == a.State) &&
		(q.Kind == "" || q.Kind == a.Kind) &&
		(q.Preset == "" || q.Preset == n.Preset) &&
		(q.Text == "" || contains(q.Text, append(aboutOf(question), a.Tool, n.Title)...))
}

// contains reports whether one of several texts contains part, in upper or lower case.
func contains(part string, texts ...string) bool {
	part = strings.ToLower(part)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
}

// approvalOf shows a question to a user.
func approvalOf(q *approval.Question, u api.User) api.Approval {
	a := api.Approval{
		ID: q.ID, Conversation: idOf(q.Conversation), Kind: kindOf(q.Tool), Tool: q.Tool, ToolUseID: q.ToolUseID, Title: titleOf(q), Reason: q.Reason,
		Input: q.Input, Digest: q.Digest, Dir: q.Cwd, Diff: q.Diff, Plan: q.Plan, PlanPath: q.PlanPath,
		Suggestions: orEmpty(q.Suggestions), AgentID: q.Agent, HoldsProcess: q.HoldsProcess, Deferred: q.Deferred,
		AskedAt: q.Asked, ExpiresAt: q.Deadline, State: stateOf(q), Outcome: api.Outcome(q.Outcome), Unused: q.Unused, Successor: q.Successor,
	}
	a.MayDecide = a.State == api.ApprovalPending && u.Role.Covers(api.RoleApprover) && q.MayDecide(u.Name)
	if q.Answer != nil {
		a.DecidedBy, a.DecidedAt, a.Rule = q.Answer.By, q.Answer.At, q.Answer.Rule
		a.Message, a.Mode = q.Answer.Decision.Message(), modeAfter(q)
	}
	if a.Kind == api.KindElicitation {
		a.Form = formOf(q)
	}
	if a.Kind == api.KindQuestion {
		if questions, err := q.Request().Questions(); err == nil {
			for _, one := range questions {
				a.Questions = append(a.Questions, questionOf(&one))
			}
		}
	}
	return a
}

func questionOf(q *permission.Question) api.Question {
	out := api.Question{Question: q.Text, Header: q.Header, MultiSelect: q.MultiSelect, Options: []api.Option{}}
	for _, o := range q.Options {
		out.Options = append(out.Options, api.Option{Label: o.Label, Description: o.Description, Preview: o.Preview})
	}
	return out
}

// titleOf sums up a question in one line.
func titleOf(q *approval.Question) string { return firstLine(aboutOf(q)[0]) }

// aboutOf returns what a question asks, in full: one text, or one for each question.
func aboutOf(q *approval.Question) []string {
	switch kindOf(q.Tool) {
	case api.KindPlan:
		return []string{"Begin with this plan?", q.Plan}
	case api.KindElicitation:
		return []string{q.Reason}
	case api.KindQuestion:
		if questions, err := q.Request().Questions(); err == nil && len(questions) > 0 {
			var texts []string
			for _, one := range questions {
				texts = append(texts, one.Text)
			}
			return texts
		}
	}
	return []string{cmp.Or(show.About(q.Input), q.Tool)}
}

// updatesOf returns the changes that a decision makes besides the call.
func updatesOf(d *api.Decision) []permission.Update {
	if d.Mode == "" {
		return nil
	}
	return []permission.Update{permission.SetMode(permission.Mode(d.Mode), permission.ToSession)}
}

// modeAfter returns the mode that was chosen with a decision.
func modeAfter(q *approval.Question) string {
	for _, up := range q.Answer.Decision.Updates() {
		if up.Type == permission.UpdateSetMode {
			return string(up.Mode)
		}
	}
	return ""
}
