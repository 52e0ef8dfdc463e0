package approval

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude/store"
)

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
	if q.State == Decided {
		q.Unused = why
	}
	q.end(o, now)
}

// whyWithdrawn returns why the decision about a withdrawn question was not used.
func whyWithdrawn(o Outcome) string {
	if o == Superseded {
		return unusedReplaced
	}
	return unusedWithdrawn
}

// whyEnded returns why the decision about a call that has ended without it was not
// used.
func whyEnded(o Outcome) string {
	if o == Unknown {
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
