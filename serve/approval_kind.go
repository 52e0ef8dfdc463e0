package serve

import (
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// kindOf says what kind of approval a question is.
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

// stateOf says how a question stands, in one word.
func stateOf(q *approval.Question) api.ApprovalState {
	switch {
	case q.State == approval.Gone && q.Outcome == approval.Expired:
		return api.ApprovalExpired
	case q.State == approval.Gone:
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

// selectsApproval reports whether a query selects an approval that was made of a question,
// in the conversation of a note.
func selectsApproval(q *api.ApprovalQuery, a *api.Approval, question *approval.Question, n *note) bool {
	return (q.State == "" || q.State == a.State) &&
		(q.Kind == "" || q.Kind == a.Kind) &&
		(q.Preset == "" || q.Preset == n.Preset) &&
		(q.Text == "" || contains(q.Text, append(aboutOf(question), a.Tool, n.Title)...))
}

// contains reports whether one of several texts has another in it, in upper or lower
// case.
func contains(part string, texts ...string) bool {
	part = strings.ToLower(part)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
}
