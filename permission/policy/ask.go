package policy

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/permission"
)

// PendingRequest is a tool call waiting for a person's decision.
type PendingRequest struct {
	// Request is the question.
	Request *permission.Request

	ctx     context.Context
	settled atomic.Bool // answered, or no longer asked
	answer  chan permission.Decision
}

// Answer gives the decision; [permission.Pass] leaves it to the next function
// of a chain. Only the first answer counts. Answer reports whether this was
// the first and the call was still waiting for it.
func (q *PendingRequest) Answer(d permission.Decision) bool {
	if q.settled.Swap(true) {
		return false
	}
	q.answer <- d
	return true
}

// Done returns a channel that is closed when the question no longer matters:
// it was answered or withdrawn, it timed out, or the session has ended. Remove
// the prompt from the screen then.
func (q *PendingRequest) Done() <-chan struct{} { return q.ctx.Done() }

// Ask sends each request to a channel and waits for the answer. The receiver
// shows it to a person and calls [PendingRequest.Answer]. A request that is
// not received and answered within the timeout is denied; zero means no
// timeout.
//
// A session does not limit the callback unless Timeouts.Callback is set. A
// policy used as a guard is a hook, which has 60 seconds.
func Ask(questions chan<- *PendingRequest, timeout time.Duration) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		outer := ctx
		ctx, cancel := context.WithCancel(outer)
		if timeout > 0 {
			cancel()
			ctx, cancel = context.WithTimeout(outer, timeout)
		}
		defer cancel()
		q := &PendingRequest{Request: req, ctx: ctx, answer: make(chan permission.Decision, 1)}
		select {
		case questions <- q:
		case <-ctx.Done():
			return unanswered(outer, timeout)
		}
		select {
		case d := <-q.answer:
			return d, nil
		case <-ctx.Done():
		}
		if q.settled.Swap(true) { // the answer came in the same moment
			return <-q.answer, nil
		}
		return unanswered(outer, timeout)
	}
}

func unanswered(outer context.Context, timeout time.Duration) (permission.Decision, error) {
	if outer.Err() != nil {
		return permission.Pass(), fmt.Errorf("policy: ask: %w", context.Cause(outer))
	}
	return permission.Deny(fmt.Sprintf("Nobody answered within %v.", timeout)), nil
}
