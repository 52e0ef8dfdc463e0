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

func (pr *prompter) release(ctx context.Context, u api.User, n *note) error {
	held, err := pr.holding(ctx, n.Key)
	if err != nil {
		return err
	}
	if len(held) == 0 {
		return idle.because("no question of the conversation holds a process; those that can be deferred let it go by themselves, and POST …/interrupt stops a turn")
	}
	for i := range held {
		if !held[i].MayDecide(u.Name) {
			return approval.ErrForbidden // before any question is declined
		}
	}
	ctx, cancel := lasting(ctx) // all of them, even if the client leaves
	defer cancel()
	declined := 0
	for i := range held {
		fresh, failed := pr.decline(ctx, u, &held[i])
		if err = errors.Join(err, failed); fresh {
			declined++
		}
	}
	if declined > 0 {
		if err := pr.journal.notice(ctx, u, n.Key, "released the process: declined "+show.Plural(declined, "question")); err != nil { // it is done anyway
			pr.logger.Warn("a release is not in the log of its conversation", "conversation", n.Key, "error", err)
		}
	}
	return err
}

// decline declines a question, and reports whether it was still open. If it was decided
// first or is gone, no process waits for it.
func (pr *prompter) decline(ctx context.Context, u api.User, q *approval.Question) (fresh bool, err error) {
	now, err := pr.fleet.Approvals().Decide(ctx, q.ID, approval.Answer{By: u.Name, Digest: q.Digest, Decision: permission.Deny(released(u))})
	if _, decided := errors.AsType[*approval.DecidedError](err); decided || errors.Is(err, approval.ErrGone) {
		return false, nil
	}
	if err == nil {
		pr.journal.logApproval(ctx, &now, time.Time{})
	}
	return err == nil, err
}

// released returns the text that the model reads instead of an answer.
func released(u api.User) string {
	return u.Name + " does not answer this now. Continue without the answer, and do not ask again in this turn."
}

// holding returns the questions of a conversation that hold a process.
func (pr *prompter) holding(ctx context.Context, key string) ([]approval.Question, error) {
	var held []approval.Question
	for q, err := range pr.fleet.Approvals().List(ctx, approval.Filter{Conversation: key, States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			return nil, err
		}
		if q.HoldsProcess {
			held = append(held, q)
		}
	}
	return held, nil
}
