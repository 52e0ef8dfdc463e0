package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// deletion is a conversation that is being deleted. It is there until nothing is
// left of the conversation.
type deletion struct {
	Key string `json:"key"`
}

// Delete removes a conversation and everything that the store has of it. A turn
// that runs is cut off; prompts that wait end as [Cancelled]; questions are gone.
// From the moment the deletion begins, every other method returns [ErrDeleted];
// when it is done, [ErrUnknown], and the key can be used again.
//
// If another process runs the conversation and Options.Elsewhere does not reach it,
// Delete returns [ErrElsewhere] and changes nothing. After any other error, the conversation may be half deleted:
// call Delete again, or leave it to the next Open.
func (f *Fleet) Delete(ctx context.Context, key string) error {
	if err := f.deletable(ctx, key); err != nil {
		return err
	}
	c, err := f.stop(ctx, key)
	if err != nil {
		return err
	}
	defer f.unstop(c)
	err = f.deleteStopped(ctx, key)
	if errors.Is(err, ErrElsewhere) && f.opts.Elsewhere != nil {
		return f.opts.Elsewhere(ctx, key, Instruction{Delete: true})
	}
	return err
}

// deletable returns an error if there is nothing to delete.
func (f *Fleet) deletable(ctx context.Context, key string) (err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	if _, err = f.records.load(ctx, key); errors.Is(err, ErrDeleted) {
		return nil
	}
	return err
}

// deleteStopped deletes a conversation that this process does not work on.
func (f *Fleet) deleteStopped(ctx context.Context, key string) (err error) {
	ctx, end := f.bounds.boundEach(ctx, key)
	defer end(&err)
	lease, err := f.leases.own(ctx, key)
	if errors.Is(err, store.ErrLeased) {
		return &ConversationError{key, errors.Join(ErrElsewhere, err)}
	}
	if err != nil {
		return &ConversationError{key, err}
	}
	if err := f.countDeleted(ctx, key, lease.Fence); err != nil {
		f.opts.Logger.Warn("a conversation is deleted, and not all that it has cost today is counted", "conversation", key, "error", err)
	}
	err = f.erase(ctx, key, lease.Fence)
	if err := lease.release(ctx); err != nil {
		f.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", key, "error", err)
	}
	if err != nil {
		return &ConversationError{key, err}
	}
	return nil
}

// stop ends the work on a conversation in this process: what runs is cut off, and
// nothing begins until unstop.
func (f *Fleet) stop(ctx context.Context, key string) (*conversation, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, ErrClosed
	}
	c := f.conversation(key)
	if c.Stopped {
		f.mu.Unlock()
		return nil, &ConversationError{key, ErrDeleted}
	}
	c.Stopped = true
	f.waitlist.Put(c, time.Now())
	c.watching++
	close(c.stop)
	left := c.left
	f.mu.Unlock()
	if left == nil {
		return c, nil
	}
	select {
	case <-left:
		return c, nil
	case <-ctx.Done():
		f.unstop(c)
		return nil, &ConversationError{key, context.Cause(ctx)}
	}
}

// unstop lets the conversation be used again.
func (f *Fleet) unstop(c *conversation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.Stopped = false
	c.stop = make(chan struct{})
	f.waitlist.Put(c, time.Now())
	c.watching--
	f.forget(c)
	f.schedule()
}

// erase removes what the store has of a conversation whose lease we have. What
// is left after a failure still says what is to be removed.
func (f *Fleet) erase(ctx context.Context, key string, fence store.Fence) error {
	_, err := f.records.put(ctx, kindDeletion, place(key), &deletion{key}, 0, store.Fence{})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	now, err := f.store.Now(ctx)
	if err != nil {
		return err
	}
	rec, err := f.records.changeAny(ctx, key, fence, func(r *record) error {
		if !r.Deleted.IsZero() {
			return errUnchanged
		}
		r.Deleted = now
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.inbox.Erase(ctx, key, fence); err != nil {
		return err
	}
	changed(ctx, nil)
	sessions := append(rec.sessions(), rec.Unstored...)
	unbounded, resume := pauseBound(ctx)
	f.eraseFiles(unbounded, key, sessions)
	resume()
	for _, session := range sessions {
		if err := f.store.Delete(ctx, store.Key{Project: f.opts.Project, Session: session}, fence); err != nil {
			return err
		}
	}
	if err := f.erasePrompts(ctx, key, now, fence); err != nil {
		return err
	}
	if err := f.records.dropRecord(ctx, kindCalls, place(key), fence); err != nil {
		return err
	}
	if err := f.records.markDeleted(ctx, key, now, fence); err != nil {
		return err
	}
	if err := f.records.dropRecord(ctx, kindConversation, place(key), fence); err != nil {
		return err
	}
	return f.records.dropRecord(ctx, kindDeletion, place(key), fence)
}

// erasePrompts removes the outcomes of a conversation and the prompts that wait.
func (f *Fleet) erasePrompts(ctx context.Context, key string, now time.Time, fence store.Fence) error {
	var waiting []*queued
	for p, err := range f.records.pending(ctx, key) {
		if err != nil {
			return err
		}
		waiting = append(waiting, p)
	}
	if err := f.records.dropBelow(ctx, kindOutcome, key, fence); err != nil {
		return err
	}
	for _, p := range waiting {
		o := Ticket{Prompt: p.ID, Status: Cancelled, Error: "its conversation was deleted", Ended: now}
		if err := f.records.dropEnded(ctx, key, p, &o, fence); err != nil {
			return err
		}
		f.mu.Lock()
		c := f.conversation(key)
		f.remove(c, p.name)
		f.mu.Unlock()
		f.finished(c, o)
	}
	return nil
}

// finishDeletions completes what somebody began and could not finish.
func (f *Fleet) finishDeletions(ctx context.Context) error {
	for r, err := range f.store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kindDeletion}, "") {
		var d deletion
		if err == nil {
			err = decode(r, &d)
		}
		if f.newer.skips(keyAt(r.Key.Name), err) {
			continue
		}
		if err != nil {
			return err
		}
		f.running.Go(func() { f.finishDeletion(d.Key) })
	}
	return nil
}

// finishDeletion deletes a conversation that somebody has begun to delete. Their
// lease may have to expire first.
func (f *Fleet) finishDeletion(key string) {
	for attempt := 0; f.ctx.Err() == nil; attempt++ {
		rec, err := f.records.read(f.ctx, key)
		if err == nil && rec.Deleted.IsZero() || errors.Is(err, ErrUnknown) {
			// It was not begun, or is done.
			err = f.records.dropRecord(f.ctx, kindDeletion, place(key), store.Fence{})
		} else if err == nil {
			err = f.Delete(f.ctx, key)
		}
		if err == nil || errors.Is(err, ErrClosed) || f.newer.skips(key, err) {
			return
		}
		f.opts.Logger.Warn("a conversation could not be deleted yet", "conversation", key, "error", err)
		pause(f.ctx, retryDelay(attempt))
	}
}
