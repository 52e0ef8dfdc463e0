package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Approvals lists the approvals of the conversations that the user may see, the
// newest first.
func (s *Service) Approvals(ctx context.Context, u api.User, q api.ApprovalQuery) (api.List[api.Approval], error) {
	none := api.List[api.Approval]{Items: []api.Approval{}}
	if err := need(u, api.Viewer); err != nil {
		return none, err
	}
	all, err := s.approvals(ctx, u, q)
	if err != nil {
		return none, problemOf(err)
	}
	return cut(all, q.Limit, q.Cursor, func(a *api.Approval) string { return a.AskedAt.UTC().Format(cursorTime) + " " + a.ID })
}

func (s *Service) approvals(ctx context.Context, u api.User, q api.ApprovalQuery) ([]api.Approval, error) {
	filter := approval.Filter{}
	if q.Conversation != "" {
		filter.Conversation = keyOf(q.Conversation)
	}
	if q.State == api.ApprovalPending {
		filter.States = []approval.State{approval.Open}
	}
	notes := make(map[string]*note) // by conversation; nil if the user may not see it
	all := []api.Approval{}
	for question, err := range s.fleet.Approvals().List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		n, known := notes[question.Conversation]
		if !known {
			switch found, err := s.find(ctx, u, idOf(question.Conversation)); {
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
		if a := approvalOf(&question, u); selectsApproval(&q, &a, &question, n) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b api.Approval) int {
		return cmp.Or(b.AskedAt.Compare(a.AskedAt), strings.Compare(b.ID, a.ID))
	})
	return all, nil
}

// Approval returns an approval.
func (s *Service) Approval(ctx context.Context, u api.User, id string) (api.Approval, error) {
	q, err := s.question(ctx, u, id, api.Viewer)
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	s.acknowledge(ctx, &q, u)
	return approvalOf(&q, u), nil
}

// acknowledge notes that a person has read that their decision was not used.
func (s *Service) acknowledge(ctx context.Context, q *approval.Question, u api.User) {
	if q.Unused == "" || !q.UnusedSeen.IsZero() || q.Answer == nil || q.Answer.By != u.Name {
		return
	}
	if _, err := s.fleet.Approvals().Acknowledge(ctx, q.ID, u.Name); err != nil {
		s.opts.Logger.Warn("it is not noted that a decision is known not to have been used", "approval", q.ID, "error", err)
	}
}

// question returns a question of a conversation that the user may see.
func (s *Service) question(ctx context.Context, u api.User, id string, least api.Role) (approval.Question, error) {
	if err := need(u, least); err != nil {
		return approval.Question{}, err
	}
	q, err := s.fleet.Approvals().Get(ctx, id)
	if err == nil {
		_, err = s.find(ctx, u, idOf(q.Conversation))
	}
	return q, err
}

// Decide decides an approval. Repeating the same decision changes nothing. If
// somebody has already decided otherwise, the error is an [api.Problem] with the
// approval as it now is.
func (s *Service) Decide(ctx context.Context, u api.User, id string, d api.Decision) (api.Approval, error) {
	q, err := s.question(ctx, u, id, api.Approver)
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	answer, err := answerOf(&d, &q, u)
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	ctx, cancel := lasting(ctx) // a decision counts although the client has left
	defer cancel()
	before := q.State
	q, err = s.fleet.Approvals().Decide(ctx, id, answer)
	if _, ok := errors.AsType[*approval.DecidedError](err); ok {
		return s.decidedBefore(ctx, u, id, &answer)
	}
	if err != nil {
		return api.Approval{}, problemOf(err)
	}
	// The watcher may never see a question that is answered quickly, so the log
	// has it from here. Nobody waits for a decision until the log has its call.
	s.logApproval(ctx, &q, time.Time{})
	if before == approval.Open {
		what := string(answer.Decision.Behavior()) + " " + q.Tool
		if err := s.notice(ctx, u, q.Conversation, "decided: "+what); err != nil {
			s.opts.Logger.Warn("a decision is not in the log of its conversation", "approval", id, "error", err)
		}
	}
	return approvalOf(&q, u), nil
}

// decidedBefore answers somebody who came second: the same decision is fine,
// another one is a conflict that says who was first.
func (s *Service) decidedBefore(ctx context.Context, u api.User, id string, a *approval.Answer) (api.Approval, error) {
	q, err := s.fleet.Approvals().Get(ctx, id)
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

// answerOf makes the inbox's answer of a decision.
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
		a.Decision = permission.AllowWith(d.Input)
	default:
		a.Decision = permission.Allow()
	}
	return a, nil
}

// refusal is what the model reads if a person says no and nothing else.
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

// approvalOf shows a question to a user.
func approvalOf(q *approval.Question, u api.User) api.Approval {
	a := api.Approval{
		ID: q.ID, Conversation: idOf(q.Conversation), Kind: kindOf(q.Tool), Tool: q.Tool, ToolUseID: q.ToolUseID, Title: titleOf(q), Reason: q.Reason,
		Input: q.Input, Digest: q.Digest, Dir: q.Cwd, Diff: q.Diff, Plan: q.Plan, PlanPath: q.PlanPath,
		Suggestions: orEmpty(q.Suggestions), AgentID: q.Agent, HoldsProcess: q.HoldsProcess, Deferred: q.Deferred,
		AskedAt: q.Asked, ExpiresAt: q.Deadline, State: stateOf(q), Outcome: api.Outcome(q.Outcome), Unused: q.Unused, Successor: q.Successor,
	}
	a.MayDecide = a.State == api.ApprovalPending && u.Role.Covers(api.Approver) && q.MayDecide(u.Name)
	if q.Answer != nil {
		a.DecidedBy, a.DecidedAt, a.Rule = q.Answer.By, q.Answer.At, q.Answer.Rule
		a.Message = q.Answer.Decision.Message()
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

// titleOf is one line that says what is asked.
func titleOf(q *approval.Question) string { return firstLine(aboutOf(q)[0]) }

// aboutOf says what is asked, in full: in one text, or in one for each question.
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
