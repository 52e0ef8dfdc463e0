package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// Approvals lists the approvals of the conversations that the user may see, the
// newest first.
func (s *Service) Approvals(ctx context.Context, u api.User, q api.ApprovalQuery) (api.List[api.Approval], error) {
	none := api.List[api.Approval]{Items: []api.Approval{}}
	if err := need(u, api.RoleViewer); err != nil {
		return none, err
	}
	all, err := s.answers.approvals(ctx, u, q)
	if err != nil {
		return none, problemOf(err)
	}
	return cut(all, q.Limit, q.Cursor, func(a *api.Approval) string { return a.AskedAt.UTC().Format(cursorTime) + " " + a.ID })
}

// Inbox holds the pending approvals of a user.
type Inbox struct {
	Items []api.Approval // that the query selects, the oldest first
	Total int            // all that are pending
}

// Inbox returns the pending approvals of the conversations that the user may see,
// however many they are. The query selects among them by its Conversation, Kind, Preset
// and Text.
func (s *Service) Inbox(ctx context.Context, u api.User, q api.ApprovalQuery) (Inbox, error) {
	if err := need(u, api.RoleViewer); err != nil {
		return Inbox{}, err
	}
	all, err := s.answers.approvals(ctx, u, api.ApprovalQuery{State: api.ApprovalPending})
	if err != nil {
		return Inbox{}, problemOf(err)
	}
	in := Inbox{Items: all, Total: len(all)}
	q.State, q.Limit, q.Cursor = "", 0, ""
	if q != (api.ApprovalQuery{}) {
		q.State = api.ApprovalPending
		if in.Items, err = s.answers.approvals(ctx, u, q); err != nil {
			return Inbox{}, problemOf(err)
		}
	}
	slices.Reverse(in.Items)
	return in, nil
}

// Approval returns an approval.
func (s *Service) Approval(ctx context.Context, u api.User, id string) (api.Approval, error) {
	q, n, err := s.answers.question(ctx, u, id, api.RoleViewer)
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	s.answers.acknowledge(ctx, &q, u)
	return s.answers.shown(&q, &n, u), nil
}

// Decide decides an approval. It is idempotent: repeating the same decision changes
// nothing. If another user has already decided otherwise, the error is an [api.Problem]
// with the current state of the approval.
func (s *Service) Decide(ctx context.Context, u api.User, id string, d api.Decision) (api.Approval, error) {
	q, answer, err := s.answers.mayDecide(ctx, u, id, &d)
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	ctx, cancel := lasting(ctx) // a decision counts even if the client has left
	defer cancel()
	before := q.State
	q, err = s.fleet.Approvals().Decide(ctx, id, answer)
	if _, ok := errors.AsType[*approval.DecidedError](err); ok {
		return s.answers.decidedBefore(ctx, u, id)
	}
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	// The watcher may never see a question that is answered quickly, so this records
	// it. A decision does not wait until the log has the call.
	s.journal.logApproval(ctx, &q, time.Time{})
	if before == approval.StateOpen {
		what := string(answer.Decision.Behavior()) + " " + q.Tool
		if d.Mode != "" {
			what += ", and chose the permission mode " + strconv.Quote(d.Mode)
		}
		if err := s.journal.notice(ctx, u, q.Conversation, "decided: "+what); err != nil {
			s.opts.Logger.Warn("a decision is not in the log of its conversation", "approval", id, "error", err)
		}
	}
	return approvalOf(&q, u), nil
}

// answerOf turns a decision into an answer for the inbox.
func answerOf(d *api.Decision, q *approval.Question, u api.User) (approval.Answer, error) {
	a := approval.Answer{By: u.Name, Digest: d.Digest}
	for _, i := range d.Remember {
		if i < 0 || i >= len(q.Suggestions) {
			return a, badRequest.because("remember: suggestion %d does not exist, the approval has %d", i, len(q.Suggestions))
		}
		a.Always = append(a.Always, q.Suggestions[i])
	}
	kind := kindOf(q.Tool)
	switch {
	case d.Decision == api.DecideDeny && d.Stop:
		a.Decision = permission.DenyAndStop(cmp.Or(d.Message, refusal(u)))
	case d.Decision == api.DecideDeny:
		a.Decision = permission.Deny(cmp.Or(d.Message, refusal(u)))
	case d.Decision == api.DecideAnswer && kind == api.KindQuestion && len(d.Input) == 0:
		decision, err := answersOf(d, q)
		a.Decision = decision
		return a, err
	case d.Decision == api.DecideAnswer && kind != api.KindElicitation && kind != api.KindQuestion:
		return a, badRequest.because("only questions and elicitations can be answered; allow or deny this one")
	case d.Decision == api.DecideAllow && kind == api.KindQuestion && len(d.Input) == 0:
		return a, badRequest.because("a question needs answers: send decision \"answer\" with them, or deny it")
	case kind == api.KindElicitation && checkContent(q, d.Input) != nil:
		return a, checkContent(q, d.Input)
	case len(d.Input) > 0:
		a.Decision = permission.AllowWith(d.Input, updatesOf(d)...)
	default:
		a.Decision = permission.Allow(updatesOf(d)...)
	}
	return a, nil
}

// refusal returns the text that the model reads after a denial without a message.
func refusal(u api.User) string { return u.Name + " does not allow this." }

// answersOf answers the questions of the agent.
func answersOf(d *api.Decision, q *approval.Question) (permission.Decision, error) {
	if len(d.Answers) == 0 {
		return permission.Decision{}, badRequest.because("answers is missing")
	}
	answers := q.Request().Answers()
	questions, err := q.Request().Questions()
	if err != nil {
		return permission.Decision{}, badRequest.because("the questions of the agent cannot be read; send an input, or deny")
	}
	for _, one := range d.Answers {
		if one.Question < 0 || one.Question >= len(questions) {
			return permission.Decision{}, badRequest.because("question %d does not exist, the approval has %d", one.Question, len(questions))
		}
		if one.Write != "" {
			answers = answers.WriteAt(one.Question, one.Write)
			continue
		}
		var chosen []int
		for _, label := range one.Choose {
			i := slices.IndexFunc(questions[one.Question].Options, func(o permission.Option) bool { return o.Label == label })
			if i < 0 {
				return permission.Decision{}, badRequest.because("question %d has no option %q", one.Question, label)
			}
			chosen = append(chosen, i)
		}
		answers = answers.ChooseAt(one.Question, chosen...)
	}
	decision, err := answers.Decision()
	if err != nil {
		return permission.Decision{}, badRequest.because("%s", err)
	}
	return decision, nil
}
