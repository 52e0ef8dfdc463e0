package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// Release ends the wait for answers that hold a process: the forms of MCP servers and
// the questions of subagents, which cannot be deferred. They are declined, so nothing
// runs because of it; the turn continues without them, and the process is free for
// others when the turn is over.
func (s *Service) Release(ctx context.Context, u api.User, id string) error {
	n, err := s.act(ctx, u, id, api.Operator)
	if err == nil {
		err = s.release(ctx, u, &n)
	}
	if err != nil {
		return problemOf(err)
	}
	return nil
}

func (s *Service) release(ctx context.Context, u api.User, n *note) error {
	held, err := s.holding(ctx, n.Key)
	if err != nil {
		return err
	}
	if len(held) == 0 {
		return idle.because("no question of the conversation holds a process; those that can be deferred let it go by themselves, and POST …/interrupt stops a turn")
	}
	for i := range held {
		if !held[i].MayDecide(u.Name) {
			return approval.ErrForbidden // before anything is declined
		}
	}
	ctx, cancel := lasting(ctx) // all of them, although the client leaves
	defer cancel()
	declined := 0
	for i := range held {
		fresh, failed := s.decline(ctx, u, &held[i])
		if err = errors.Join(err, failed); fresh {
			declined++
		}
	}
	if declined > 0 {
		if err := s.notice(ctx, u, n.Key, "released the process: declined "+show.Plural(declined, "question")); err != nil { // it is done anyway
			s.opts.Logger.Warn("a release is not in the log of its conversation", "conversation", n.Key, "error", err)
		}
	}
	return err
}

// decline declines a question, and reports whether nobody was faster: after another
// decision, or when the question is gone, nobody waits for it.
func (s *Service) decline(ctx context.Context, u api.User, q *approval.Question) (fresh bool, err error) {
	now, err := s.fleet.Approvals().Decide(ctx, q.ID, approval.Answer{By: u.Name, Digest: q.Digest, Decision: permission.Deny(released(u))})
	if _, decided := errors.AsType[*approval.DecidedError](err); decided || errors.Is(err, approval.ErrGone) {
		return false, nil
	}
	if err == nil {
		s.logApproval(ctx, &now, time.Time{})
	}
	return err == nil, err
}

// released is what the model reads instead of an answer.
func released(u api.User) string {
	return u.Name + " does not answer this now. Continue without the answer, and do not ask again in this turn."
}

// holding returns the questions of a conversation that hold a process.
func (s *Service) holding(ctx context.Context, key string) ([]approval.Question, error) {
	var held []approval.Question
	for q, err := range s.fleet.Approvals().List(ctx, approval.Filter{Conversation: key, States: []approval.State{approval.Open}}) {
		if err != nil {
			return nil, err
		}
		if q.HoldsProcess {
			held = append(held, q)
		}
	}
	return held, nil
}
