package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/plan"
	"github.com/claude-agent-go/claude/store"
)

// next lets the plan decide about the contents of the store, and carries out what it
// decides until that is a step. With an error it returns the prompt that is next: the more
// often that one has begun, the later it is tried again.
func (w *waking) next(ctx context.Context) (step, *queued, error) {
	s := &sight{held: make(map[string]bool)}
	for {
		d, err := w.untilStep(ctx, s)
		switch {
		case err != nil:
			return sleep, s.first(), err
		case d.Step == plan.Erase: // one who deletes does that
			return sleep, nil, nil
		case d.Step == plan.Sleep && d.Prompt.Sent && !w.rests(s.prompt(d.Prompt.ID)):
			s.decisions++ // it was interrupted meanwhile
		case d.Step == plan.Sleep:
			return sleep, nil, w.sleeps(ctx, s, d.Prompt)
		default:
			return steps[d.Step], w.counted(s, &d), nil
		}
	}
}

// untilStep adds the lines and makes the changes that the plan decides on, and returns the
// decision that is a step. Every line and every change can be made again, so the next owner
// continues wherever this one dies.
func (w *waking) untilStep(ctx context.Context, s *sight) (plan.Decision, error) {
	for ; s.decisions < maxDecisions; s.decisions++ {
		d, err := w.decide(ctx, s)
		switch {
		case err != nil:
		case d.Line != nil:
			err = w.addLine(ctx, s, d.Line)
		case d.Changes != nil:
			err = w.changeAll(ctx, s, d.Changes)
		default:
			return d, nil
		}
		if err != nil {
			return plan.Decision{}, err
		}
	}
	return plan.Decision{}, fmt.Errorf("claude: fleet: conversation %q: no step after %d decisions", w.c.key, maxDecisions)
}

// maxDecisions is how many decisions may come before a step. Only a mistake needs more, and
// it must not keep the store busy.
const maxDecisions = 1000

// steps has the steps of the plan that start a CLI, or let it work.
var steps = map[plan.Step]step{plan.Send: send, plan.Finish: finish, plan.Resume: resume, plan.Await: await, plan.Rewind: rewind}

// decide reads the store as far as the plan needs it.
func (w *waking) decide(ctx context.Context, s *sight) (plan.Decision, error) {
	if err := w.survey(ctx, s); err != nil {
		return plan.Decision{}, err
	}
	rules := plan.Rules{Attempts: w.opts.Attempts, Resets: w.opts.Resets, Losses: maxLosses}
	d := plan.Next(s.state, rules)
	switch {
	case d.Step == plan.Erase || d.Step == plan.Sleep && w.rec.Stuck != nil:
		return d, nil
	case d.Step != plan.Read:
		return d, w.findLost(ctx, nil)
	}
	err := w.read(ctx, s)
	if err != nil && w.leaves(s, err) {
		return w.decide(ctx, s)
	}
	return plan.Next(s.state, rules), err
}

// counted returns the prompt of a step, counted as the plan counts it.
func (w *waking) counted(s *sight, d *plan.Decision) *queued {
	p := s.prompt(d.Prompt.ID)
	p.Sent, p.Begun, p.Resets, p.Since, p.Question = d.Prompt.Sent, d.Prompt.Begun, d.Prompt.Resets, d.Prompt.Since, d.Prompt.Question
	p.Losses = d.Prompt.Losses
	w.deferredCall = nil
	if q, asked := s.questions[d.Question]; asked {
		w.deferredCall = &q
	}
	return p
}

// sleeps tells people why a conversation sleeps although it has prompts.
func (w *waking) sleeps(ctx context.Context, s *sight, p plan.Prompt) error {
	switch {
	case w.rec.Stuck != nil:
		w.isStuck()
		return w.tellStuck(ctx, w.rec.Stuck)
	case p.ID == "":
	case !p.Sent:
		w.days.hold(w.c.key, s.spent)
		w.news.publish(w.c, p.ID, nil, s.spent)
	case s.waits:
		w.news.publish(w.c, p.ID, nil, &DeferredError{w.c.key, p.ID, p.Question})
	}
	return nil
}

// leaves reports whether an error only concerns questions that ended turns have left.
// They hold up no prompt, and the next look tries to end them again.
func (w *waking) leaves(s *sight, err error) bool {
	s.left = s.state.Conversation.Unsettled && !s.hasBegun()
	if s.left {
		w.opts.Logger.Warn("questions of a turn still cannot be ended", "conversation", w.c.key, "error", err)
	}
	return s.left
}

// addLine adds a line to the transcript. The call of a question may turn out not to wait.
func (w *waking) addLine(ctx context.Context, s *sight, l plan.Line) error {
	d, isDeferral := l.(plan.Defer)
	if !isDeferral {
		s.noted = true
		return w.appendNote(ctx, w.going.untold())
	}
	s.facts = plan.Facts{}
	_, err := w.inbox.Recover(ctx, w.store, store.Key{Project: w.opts.Project, Session: w.rec.Session}, d.Question, w.lease.Fence)
	if errors.Is(err, approval.ErrNotWaiting) {
		s.held[d.Question] = true
		return nil
	}
	if _, late := errors.AsType[*approval.StateError](err); late {
		return nil
	}
	return err
}

// changeAll makes changes one after another. After a failure, the rest is decided
// again.
func (w *waking) changeAll(ctx context.Context, s *sight, all []plan.Change) error {
	for _, c := range all {
		err := w.changeOne(ctx, s, c)
		if _, isLast := c.(plan.Settled); err != nil && !isLast && w.leaves(s, err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *waking) changeOne(ctx context.Context, s *sight, c plan.Change) (err error) {
	switch c := c.(type) {
	case plan.Keep:
		err = w.keepLost(ctx)
	case plan.Settle:
		err = w.inbox.End(ctx, c.Question, outcomeOf(c.Result), w.lease.Fence)
	case plan.Withdraw:
		q := s.questions[c.Question]
		if result, made := s.facts.Calls[q.ToolUseID]; !made || result != plan.None {
			return w.inbox.End(ctx, q.ID, outcomeOf(result), w.lease.Fence) // and says why a decision was not used
		}
		err = w.inbox.Withdraw(ctx, q.ID, approval.OutcomeWithdrawn, "", w.lease.Fence)
	case plan.Wait:
		if q := s.questions[c.Question]; !q.Deferred { // a recovery broke off before it was recorded
			if _, err := w.inbox.Defer(ctx, q.ID, w.lease.Fence); err != nil {
				return err
			}
		}
		s.waits = true
		err = w.amend(ctx, s.prompt(c.Prompt), func(p *queued) {
			p.Question = c.Question
			p.startAgain()
		})
	case plan.Stick:
		p := s.prompt(c.Prompt)
		err = w.stuck(ctx, p, p.neverEnded())
	case plan.Free:
		w.rec, err = w.records.free(ctx, w.c.key, s.state.Conversation.Stuck, w.lease.Fence)
	case plan.Settled:
		err = w.change(ctx, func(r *record) error {
			r.Unsettled = ""
			return nil
		})
	case plan.End:
		err = w.end(ctx, s, c)
	}
	return err
}

// outcomeOf is the outcome of a call for the question about it.
func outcomeOf(r plan.Result) approval.Outcome {
	switch r {
	case plan.Ran:
		return approval.OutcomeRan
	case plan.Refused:
		return approval.OutcomeFailed
	}
	return approval.OutcomeUnknown
}

// neverEnded is why a prompt is given up.
func (p *queued) neverEnded() string {
	reason := fmt.Sprintf("it was begun %d times and never ended", p.Begun)
	if p.Failure != "" {
		reason += "; the last time: " + p.Failure
	}
	return reason
}
