package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Verdict is the answer to the CLI about a call.
type Verdict struct {
	Question Question
	// Decision allows or denies the call. It is [permission.Pass] while the
	// question is open.
	Decision permission.Decision
}

// Pending reports whether the question is still undecided.
func (v *Verdict) Pending() bool { return v.Decision.Behavior() == "" }

// Release returns the verdict on a call. If it allows the call, the question is
// [StateReleased] first, so that a crash after this moment cannot make the tool run
// twice: asked again, Release denies the call with the outcome [OutcomeUnknown], unless
// the question is repeatable. With a fence, Release is refused in the same
// cases as an append; the call must then not run.
func (qs *Questions) Release(ctx context.Context, id string, f store.Fence) (Verdict, error) {
	var d permission.Decision
	q, err := qs.change(ctx, id, f, func(q *Question, now time.Time) (err error) {
		if q.State == StateDecided && len(q.Answer.Always) > 0 {
			if err := qs.learn(ctx, q, f); err != nil {
				return err
			}
		}
		d, err = q.release(now)
		return err
	})
	if err != nil {
		return Verdict{Question: q}, err
	}
	return Verdict{Question: q, Decision: d}, nil
}

// release takes the step that comes with the verdict.
func (q *Question) release(now time.Time) (permission.Decision, error) {
	switch q.State {
	case StateOpen:
		return permission.Pass(), errUnchanged
	case StateDecided:
		if q.Answer.Decision.Behavior() == permission.BehaviorAllow {
			q.State = StateReleased
		} else {
			q.end(OutcomeDenied, now)
		}
		return q.Answer.Decision, nil
	case StateReleased:
		if q.Repeatable {
			return q.Answer.Decision, errUnchanged
		}
		q.end(OutcomeUnknown, now)
		return q.refusal(), nil
	}
	return q.refusal(), errUnchanged
}

// refusal returns the verdict on a call whose question is over. The model must
// learn whether a person refused: it reads a bare denial as a refusal.
func (q *Question) refusal() permission.Decision {
	switch q.Outcome {
	case OutcomeDenied:
		if q.Answer != nil && q.Answer.Decision.Behavior() == permission.BehaviorDeny {
			return q.Answer.Decision
		}
		return permission.Deny("This call was allowed, and then denied by a hook. It did not run.")
	case OutcomeUnknown:
		return permission.Deny("This call was allowed and started before, and then interrupted. It is not known whether it ran. Check its effects before you repeat it.")
	case OutcomeRan, OutcomeFailed, OutcomeAllowed:
		return permission.Deny("This call ran before. It is not run a second time.")
	case OutcomeExpired:
		return permission.Deny("Nobody decided about this call in time. It was not refused; ask again if it is still needed.")
	}
	return permission.Deny(fmt.Sprintf("The question about this call is over (%s). Ask again if it is still needed.", q.Outcome))
}

// Settle records how a released call ended: [OutcomeRan], [OutcomeFailed], [OutcomeUnknown] or, if
// its end was not observed, [OutcomeAllowed]. Repeating the same outcome is not an
// error; otherwise a question that is not released is a [*StateError].
func (qs *Questions) Settle(ctx context.Context, id string, o Outcome, f store.Fence) error {
	if o != OutcomeRan && o != OutcomeFailed && o != OutcomeUnknown && o != OutcomeAllowed {
		return about(id, fmt.Errorf("%w: %q is not an outcome of a call", ErrInvalid, o))
	}
	_, err := qs.change(ctx, id, f, func(q *Question, now time.Time) error {
		switch {
		case q.State == StateSettled && q.Outcome == o:
			return errUnchanged
		case q.State == StateSettled && q.Outcome == OutcomeUnknown:
			// The unknown outcome is known now.
		case q.State != StateReleased:
			return &StateError{ID: id, State: q.State, Want: StateSettled}
		}
		q.end(o, now)
		return nil
	})
	return err
}

// Withdraw ends a question that no longer needs an answer: [OutcomeWithdrawn],
// [OutcomeSuperseded] by a successor, or [OutcomeDeleted]. A question that is over stays
// unchanged; one that was released is a [*StateError], because its call may be
// running.
//
// A fleet calls it for its conversations.
func (qs *Questions) Withdraw(ctx context.Context, id string, o Outcome, successor string, f store.Fence) error {
	if o != OutcomeWithdrawn && o != OutcomeSuperseded && o != OutcomeDeleted {
		return about(id, fmt.Errorf("%w: %q is not a reason to withdraw a question", ErrInvalid, o))
	}
	_, err := qs.change(ctx, id, f, func(q *Question, now time.Time) error {
		switch {
		case q.State.over():
			return errUnchanged
		case q.State == StateReleased:
			return &StateError{ID: id, State: q.State, Want: StateGone}
		}
		q.endUnused(o, now, whyWithdrawn(o))
		q.Successor = successor
		return nil
	})
	return err
}

// End ends the question about a call that has ended without it: a released question is
// settled with the outcome, any other is withdrawn, because the call will not be asked
// about again. A question that is over stays unchanged.
func (qs *Questions) End(ctx context.Context, id string, o Outcome, f store.Fence) error {
	if o.state() != StateSettled {
		return about(id, fmt.Errorf("%w: %q is not an outcome of a call", ErrInvalid, o))
	}
	_, err := qs.change(ctx, id, f, func(q *Question, now time.Time) error {
		switch {
		case q.State.over():
			return errUnchanged
		case q.State == StateReleased:
			q.end(o, now)
		default:
			q.endUnused(OutcomeWithdrawn, now, whyEnded(o))
		}
		return nil
	})
	return err
}

// abandon ends a question that no person decided while its process could wait.
func (qs *Questions) abandon(ctx context.Context, id string, f store.Fence) error {
	_, err := qs.change(ctx, id, f, func(q *Question, now time.Time) error {
		if q.State != StateOpen {
			return errUnchanged
		}
		q.end(OutcomeExpired, now)
		return nil
	})
	return err
}

// Defer records that no process waits for the decision any more, and returns
// the stored question. If it is not open, it has been decided in the meantime:
// call Release instead.
func (qs *Questions) Defer(ctx context.Context, id string, f store.Fence) (Question, error) {
	return qs.change(ctx, id, f, func(q *Question, _ time.Time) error {
		if q.State != StateOpen || q.Deferred {
			return errUnchanged
		}
		q.Deferred = true
		return nil
	})
}

// A question may be stored before its call is. If the process dies in between, the call is
// lost, and the question is withdrawn although a person may have decided it. That person
// must not believe that the decision took effect: the question keeps the decision, and why
// it was not used, until they have seen that.

// Reasons why a decision was not used.
const (
	unusedLost      = "The call was lost before it could learn the decision. The agent asks again if it still needs it."
	unusedWithdrawn = "The agent stopped asking before the call could learn the decision."
	unusedReplaced  = "Another question has replaced this one."
	unusedEnded     = "The call ended before it could learn the decision."
)

// endUnused ends a question that was not released. If a person has decided it, the
// question records why the decision was not used.
func (q *Question) endUnused(o Outcome, now time.Time, why string) {
	if q.State == StateDecided {
		q.Unused = why
	}
	q.end(o, now)
}

// whyWithdrawn returns why the decision about a withdrawn question was not used.
func whyWithdrawn(o Outcome) string {
	if o == OutcomeSuperseded {
		return unusedReplaced
	}
	return unusedWithdrawn
}

// whyEnded returns why the decision about a call that has ended without it was not
// used.
func whyEnded(o Outcome) string {
	if o == OutcomeUnknown {
		return unusedLost
	}
	return unusedEnded
}

// unseenFor is how much longer an unused decision keeps its question: a person who never
// looks must not keep it for ever.
const unseenFor = 30 * 24 * time.Hour

// unseen reports whether a person has yet to learn that their decision was not used. An
// unused decision of a rule needs no notice.
func (q *Question) unseen() bool {
	return q.Unused != "" && q.UnusedSeen.IsZero() && q.Answer != nil && q.Answer.Rule == ""
}

// Acknowledge implements [Inbox]. From then on [Questions.Forget] may remove the question.
func (qs *Questions) Acknowledge(ctx context.Context, id, by string) (Question, error) {
	return qs.change(ctx, id, store.Fence{}, func(q *Question, now time.Time) error {
		if !q.unseen() || q.Answer.By != by {
			return errUnchanged
		}
		q.UnusedSeen = now
		return nil
	})
}
