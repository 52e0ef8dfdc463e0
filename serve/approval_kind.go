package serve

import (
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
)

// kindOf says what kind of approval a question is.
func kindOf(tool string) ApprovalKind {
	switch tool {
	case "AskUserQuestion":
		return KindQuestion
	case "ExitPlanMode":
		return KindPlan
	case approval.ElicitationTool:
		return KindElicitation
	}
	return KindTool
}

// stateOf says how a question stands, in one word.
func stateOf(q *approval.Question) ApprovalState {
	switch {
	case q.State == approval.Gone && q.Outcome == approval.Expired:
		return ApprovalExpired
	case q.State == approval.Gone:
		return ApprovalWithdrawn
	case q.Answer == nil:
		return ApprovalPending
	case q.Answer.Decision.Behavior() != permission.BehaviorAllow:
		return ApprovalDenied
	case kindOf(q.Tool) == KindQuestion || kindOf(q.Tool) == KindElicitation:
		return ApprovalAnswered
	}
	return ApprovalAllowed
}

// selectsApproval reports whether a query selects an approval that was made of a question,
// in the conversation of a note.
func selectsApproval(q *ApprovalQuery, a *Approval, question *approval.Question, n *note) bool {
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
