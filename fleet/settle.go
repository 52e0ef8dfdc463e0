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

// settleRest ends questions of the turn that nothing else would end, before its prompt
// does: after a crash in between, the one who finds the prompt does it.
func (w *waking) settleRest(ctx context.Context) error {
	if w.gate == nil {
		return nil
	}
	return w.unlessDamaged(w.gate.SettleRest(ctx, func() (map[string]approval.Outcome, error) { return w.calls(ctx) }))
}

// settleDeferred ends the question about the call that the CLI was started to make, unless
// the call was deferred once more. A turn that is interrupted before the CLI asks about
// the call ends with it, and the gate has never seen it.
func (w *waking) settleDeferred(ctx context.Context, r *message.Result) error {
	q := w.deferredCall
	if q == nil || r.DeferredToolUse != nil && r.DeferredToolUse.ID == q.ToolUseID {
		return nil
	}
	now, err := w.f.inbox.Get(ctx, q.ID)
	if err == nil && slices.Contains(approval.Waiting(), now.State) {
		var calls map[string]approval.Outcome
		if calls, err = w.calls(ctx); err == nil {
			err = w.f.inbox.End(ctx, q.ID, cmp.Or(calls[q.ToolUseID], approval.Unknown), w.lease.Fence)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return w.unlessDamaged(err)
}

// calls returns the calls of the conversation, and how they ended.
func (w *waking) calls(ctx context.Context) (map[string]approval.Outcome, error) {
	return callsIn(ctx, func() (*history.Transcript, error) { return w.f.transcript(ctx, w.rec.Session) })
}

// unlessDamaged returns the error that kept questions of a turn from ending, unless trying
// again does not mend it.
func (w *waking) unlessDamaged(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		w.f.opts.Logger.Error("questions of a turn are left open", "conversation", w.c.key, "error", err)
		return nil
	}
	return err
}
