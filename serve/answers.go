package serve

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// answers finds the questions that a user may see and answer.
type answers struct {
	fleet         fleet.Conversations
	logger        *slog.Logger
	conversations *conversations
	presets       []Preset
}

func (as *answers) approvals(ctx context.Context, u api.User, q api.ApprovalQuery) ([]api.Approval, error) {
	filter := approval.Filter{}
	if q.Conversation != "" {
		filter.Conversation = keyOf(q.Conversation)
	}
	if q.State == api.ApprovalPending {
		filter.States = []approval.State{approval.StateOpen}
	}
	notes := make(map[string]*note) // by conversation; nil if the user may not see it
	all := []api.Approval{}
	for question, err := range as.fleet.Approvals().List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		n, known := notes[question.Conversation]
		if !known {
			switch found, err := as.conversations.find(ctx, u, idOf(question.Conversation)); {
			case err == nil:
				n = &found
			case !notFound.is(err):
				return nil, err
			}
			notes[question.Conversation] = n
		}
		if n == nil {
			continue
		}
		if a := as.shown(&question, n, u); selectsApproval(&q, &a, &question, n) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b api.Approval) int {
		return cmp.Or(b.AskedAt.Compare(a.AskedAt), strings.Compare(b.ID, a.ID))
	})
	return all, nil
}

// question returns a question of a conversation that the user may see, with the note of
// that.
func (as *answers) question(ctx context.Context, u api.User, id string, least api.Role) (q approval.Question, n note, err error) {
	if err := need(u, least); err != nil {
		return q, n, err
	}
	q, err = as.fleet.Approvals().Get(ctx, id)
	if err == nil {
		n, err = as.conversations.find(ctx, u, idOf(q.Conversation))
	}
	return q, n, err
}

// mayDecide returns the question and the answer of a decision, or why the user cannot
// make it. It changes nothing, so that several decisions can be checked before the first
// is made.
func (as *answers) mayDecide(ctx context.Context, u api.User, id string, d *api.Decision) (approval.Question, approval.Answer, error) {
	q, n, err := as.question(ctx, u, id, api.RoleApprover)
	if err != nil {
		return q, approval.Answer{}, err
	}
	a, err := answerOf(d, &q, u)
	if err == nil && d.Mode != "" {
		err = as.checkMode(d, &q, &n, u)
	}
	switch {
	case err != nil:
	case !q.MayDecide(u.Name):
		err = approval.ErrForbidden
	case q.Digest != d.Digest:
		err = approval.ErrChanged
	case q.State == approval.StateGone:
		err = &approval.GoneError{ID: id, Outcome: q.Outcome, Successor: q.Successor}
	}
	return q, a, err
}

// decidedBefore is the answer to a user whose decision came second and differs: a
// conflict that names who was first.
func (as *answers) decidedBefore(ctx context.Context, u api.User, id string) (api.Approval, error) {
	q, err := as.fleet.Approvals().Get(ctx, id)
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	now := approvalOf(&q, u)
	if q.Answer == nil {
		return now, problemOf(store.ErrConflict)
	}
	p := alreadyDecided.because("%s decided %q at %s; nothing was changed", q.Answer.By, now.State, q.Answer.At.UTC().Format("2006-01-02 15:04:05 MST"))
	p.Approval = &now
	return api.Approval{}, p
}

// acknowledge notes that a person has seen that their decision took no effect.
func (as *answers) acknowledge(ctx context.Context, q *approval.Question, u api.User) {
	if q.Unused == "" || !q.UnusedSeen.IsZero() || q.Answer == nil || q.Answer.By != u.Name {
		return
	}
	if _, err := as.fleet.Approvals().Acknowledge(ctx, q.ID, u.Name); err != nil {
		as.logger.Warn("it is not noted that a decision is known not to have been used", "approval", q.ID, "error", err)
	}
}
