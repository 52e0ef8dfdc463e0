package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// If the gate was not told how a call ended, only the transcript knows. If that cannot
// be read, the question stays, and the turn gets its outcome anyway, which only this
// process knows. The record notes it until the questions have ended.

// settleAttempts is how often a turn tries to end its questions: for about twelve
// seconds, while it has a slot that others may need.
const settleAttempts = 8

// settle ends questions of the turn that nothing else would end, before its prompt
// ends: after a crash in between, the process that finds the prompt does it.
func (w *worker) settle(ctx context.Context, r *message.Result) error {
	attempts := 0
	return w.persist(ctx, func() error {
		err := w.settleDeferred(ctx, r)
		if err == nil {
			err = w.settleRest(ctx)
		}
		forGood := errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrInvalid)
		if attempts++; err == nil || attempts < settleAttempts && !forGood {
			return err
		}
		return w.leaveUnsettled(ctx, err)
	})
}

// settleRest ends the questions about calls whose end the gate has not noticed.
func (w *worker) settleRest(ctx context.Context) error {
	if w.gate == nil {
		return nil
	}
	return w.gate.SettleRest(ctx, func() (map[string]approval.Outcome, error) { return w.calls(ctx) })
}

// settleDeferred ends the question about the call that the CLI was started to make, unless
// the call was deferred once more. A turn that is interrupted before the CLI asks about
// the call ends with it, and the gate has never seen it.
func (w *worker) settleDeferred(ctx context.Context, r *message.Result) error {
	q := w.deferredCall
	if q == nil || r.DeferredToolUse != nil && r.DeferredToolUse.ID == q.ToolUseID {
		return nil
	}
	now, err := w.inbox.Get(ctx, q.ID)
	if err == nil && slices.Contains(approval.Waiting(), now.State) {
		var calls map[string]approval.Outcome
		if calls, err = w.calls(ctx); err == nil {
			err = w.inbox.End(ctx, q.ID, cmp.Or(calls[q.ToolUseID], approval.OutcomeUnknown), w.lease.Fence)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// calls returns the calls of the conversation, and how they ended.
func (w *worker) calls(ctx context.Context) (map[string]approval.Outcome, error) {
	return callsIn(ctx, func() (*history.Transcript, error) { return w.asked.transcript(ctx, w.rec.Session) })
}

// leaveUnsettled notes why questions of a turn have not ended.
func (w *worker) leaveUnsettled(ctx context.Context, why error) error {
	err := w.change(ctx, func(r *record) error {
		r.Unsettled = cutFailure(why)
		return nil
	})
	if err == nil {
		w.opts.Logger.Error("questions of a turn could not be ended, and are left", "conversation", w.c.key, "error", why)
	}
	return err
}
