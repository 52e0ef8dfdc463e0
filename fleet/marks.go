package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// markCancelled decides that a prompt is not run. A process that wants to run it must
// also write it first, so only one of the two succeeds. The rest is cleaning up, and
// any process that finds the mark can do it.
func (rs *records) markCancelled(ctx context.Context, p *queued) (err error) {
	if p.Cancelled, err = rs.store.Now(ctx); err != nil {
		return err
	}
	return rs.update(ctx, p, store.Fence{})
}

// markInterrupted records that the turn of a prompt is interrupted, and reports whether
// it is; it is not if the prompt has ended. The mark needs no lease, because it is a
// compare-and-set: if the prompt has changed, it is read again.
func (rs *records) markInterrupted(ctx context.Context, key, prompt string) (marked bool, err error) {
	for p, err := range rs.waiting(ctx, key) {
		for err == nil && p.ID == prompt && p.Interrupted.IsZero() { // it may be in the queue twice
			if p.Interrupted, err = rs.store.Now(ctx); err == nil {
				err = rs.update(ctx, p, store.Fence{})
			}
			if errors.Is(err, store.ErrConflict) {
				p, err = rs.reread(ctx, p)
			}
		}
		if errors.Is(err, store.ErrNotFound) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return false, &ConversationError{key, err}
		}
		marked = marked || p.ID == prompt
	}
	return marked, nil
}

// free frees a conversation that is stuck at a prompt.
func (rs *records) free(ctx context.Context, key, prompt string, fence store.Fence) (record, error) {
	return rs.change(ctx, key, fence, func(r *record) error {
		if r.Stuck == nil || r.Stuck.Prompt != prompt {
			return errUnchanged
		}
		r.Stuck = nil
		return nil
	})
}

// resetAttempts makes the prompts of a conversation that is stuck count as not begun.
// They are read before the record, so that one that has begun again is not changed.
func (rs *records) resetAttempts(ctx context.Context, key string) error {
	var begun []*queued
	for p, err := range rs.waiting(ctx, key) {
		if err != nil {
			return &ConversationError{key, err}
		}
		if p.Begun > 0 || p.Failure != "" {
			begun = append(begun, p)
		}
	}
	rec, err := rs.load(ctx, key)
	if err != nil || rec.Stuck == nil {
		return err
	}
	for _, p := range begun {
		p.startAgain()
		p.Failure, p.Cause = "", ""
		if err := rs.update(ctx, p, store.Fence{}); err != nil {
			return &ConversationError{key, err}
		}
	}
	return nil
}

// cancelledBefore returns nil if a prompt that is not in the queue was cancelled.
func (rs *records) cancelledBefore(ctx context.Context, key, id string) error {
	if !uuid.Valid(id) {
		return &ConversationError{key, ErrUnknown}
	}
	o, ended, err := rs.outcome(ctx, key, id)
	switch {
	case err != nil:
		return &ConversationError{key, err}
	case !ended:
		return &ConversationError{key, ErrUnknown}
	case o.Status != PromptCancelled:
		return &ConversationError{key, ErrBegun}
	}
	return nil
}

// begunPrompt returns the first prompt that a CLI may have seen and that has not ended, nil
// if there is nothing to interrupt.
func (rs *records) begunPrompt(ctx context.Context, key string) (*queued, error) {
	for p, err := range rs.waiting(ctx, key) {
		if err != nil {
			return nil, &ConversationError{key, err}
		}
		if p.Sent && p.Rewind == nil {
			return p, nil
		}
	}
	return nil, nil
}
