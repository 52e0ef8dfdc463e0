package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/removal"
	"github.com/claude-agent-go/claude/store"
)

// deletion is the tombstone of a conversation that is being deleted. It stays until
// nothing is left of the conversation.
type deletion struct {
	Key string `json:"key"`
}

// eraser removes conversations, from the store and from the disk of this machine.
type eraser struct {
	opts    *Options
	ctx     context.Context // ends with Close
	running *sync.WaitGroup
	store   *announcer
	inbox   *approval.Questions
	newer   *newerRecords
	temps   *temporary
	bounds  bounds
	records *records
	roster  *roster
	leases  *leases
	news    *news
	meter   *meter
	peers   *peers
	removes removal.Running
}

// delete is [Fleet.Delete].
func (e *eraser) delete(ctx context.Context, key string) error {
	if err := e.deletable(ctx, key); err != nil {
		return err
	}
	c, err := e.roster.stop(ctx, key)
	if err != nil {
		return err
	}
	defer e.roster.unstop(c)
	err = e.deleteStopped(ctx, key)
	if errors.Is(err, ErrElsewhere) {
		if asked := e.peers.instruct(ctx, key, instruction{Delete: true}); !errors.Is(asked, errNoReply) {
			return asked
		}
		if errors.Is(e.deletable(ctx, key), ErrUnknown) {
			return nil // only the reply was lost
		}
		err = e.deleteStopped(ctx, key) // the process that had the lease may have given it back
	}
	return err
}

// deletable returns an error if there is nothing to delete.
func (e *eraser) deletable(ctx context.Context, key string) (err error) {
	ctx, end := e.bounds.bound(ctx, key)
	defer end(&err)
	if _, err = e.records.load(ctx, key); errors.Is(err, ErrDeleted) {
		return nil
	}
	return err
}

// deleteStopped deletes a conversation that this process does not work on.
func (e *eraser) deleteStopped(ctx context.Context, key string) (err error) {
	ctx, end := e.bounds.boundEach(ctx, key)
	defer end(&err)
	lease, err := e.leases.own(ctx, key)
	if errors.Is(err, store.ErrLeased) {
		return &ConversationError{key, errors.Join(ErrElsewhere, err)}
	}
	if err != nil {
		return &ConversationError{key, err}
	}
	if err := e.meter.countDeleted(ctx, key, lease.Fence); err != nil {
		e.opts.Logger.Warn("a conversation is deleted, and not all that it has cost today is counted", "conversation", key, "error", err)
	}
	err = e.erase(ctx, key, lease.Fence)
	if err := lease.release(ctx); err != nil {
		e.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", key, "error", err)
	}
	if err != nil {
		return &ConversationError{key, err}
	}
	return nil
}

// erase removes everything in the store about a conversation whose lease this
// process holds. After a failure, the remaining records still name everything
// that is to be removed.
func (e *eraser) erase(ctx context.Context, key string, fence store.Fence) error {
	_, err := e.records.put(ctx, kindDeletion, place(key), &deletion{key}, 0, store.Fence{})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	now, err := e.store.Now(ctx)
	if err != nil {
		return err
	}
	rec, err := e.records.changeAny(ctx, key, fence, func(r *record) error {
		if !r.Deleted.IsZero() {
			return errUnchanged
		}
		r.Deleted = now
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.inbox.Erase(ctx, key, fence); err != nil {
		return err
	}
	sessions := append(rec.sessions(), rec.Unstored...)
	unbounded, resume := pauseBound(ctx)
	e.eraseFiles(unbounded, key, sessions)
	resume()
	if err := e.eraseWorkspace(ctx, key, fence); err != nil {
		return err
	}
	for _, session := range sessions {
		if err := e.store.Delete(ctx, store.Key{Project: e.opts.Project, Session: session}, fence); err != nil {
			return err
		}
	}
	if err := e.erasePrompts(ctx, key, now, fence); err != nil {
		return err
	}
	if err := e.records.dropRecord(ctx, kindCalls, place(key), fence); err != nil {
		return err
	}
	if err := e.records.dropRecord(ctx, kindCommands, place(key), fence); err != nil {
		return err
	}
	if err := e.records.markDeleted(ctx, key, now, fence); err != nil {
		return err
	}
	if err := e.records.dropRecord(ctx, kindConversation, place(key), fence); err != nil {
		return err
	}
	return e.records.dropRecord(ctx, kindDeletion, place(key), fence)
}

// erasePrompts removes the outcomes of a conversation and the prompts that wait.
func (e *eraser) erasePrompts(ctx context.Context, key string, now time.Time, fence store.Fence) error {
	var waiting []*queued
	for p, err := range e.records.pending(ctx, key) {
		if err != nil {
			return err
		}
		waiting = append(waiting, p)
	}
	if err := e.records.dropBelow(ctx, kindOutcome, key, fence); err != nil {
		return err
	}
	for _, p := range waiting {
		o := Ticket{Prompt: p.ID, Status: PromptCancelled, Error: "its conversation was deleted", Ended: now}
		if err := e.records.dropEnded(ctx, key, p, &o, fence); err != nil {
			return err
		}
		e.roster.mu.Lock()
		c := e.roster.conversation(key)
		e.roster.remove(c, p.name)
		e.roster.mu.Unlock()
		e.news.finished(c, o)
	}
	return nil
}

// finishDeletions completes the deletions that were begun and not finished.
func (e *eraser) finishDeletions(ctx context.Context) error {
	for r, err := range e.store.Scan(ctx, store.Folder{Project: e.opts.Project, Kind: kindDeletion}, "") {
		var d deletion
		if err == nil {
			err = decode(r, &d)
		}
		if e.newer.skips(keyAt(r.Key.Name), err) {
			continue
		}
		if err != nil {
			return err
		}
		e.running.Go(func() { e.finishDeletion(d.Key) })
	}
	return nil
}

// finishDeletion completes the deletion of a conversation that another process has
// begun. The lease of that process may have to expire first.
func (e *eraser) finishDeletion(key string) {
	for attempt := 0; e.ctx.Err() == nil; attempt++ {
		rec, err := e.records.read(e.ctx, key)
		if err == nil && rec.Deleted.IsZero() || errors.Is(err, ErrUnknown) {
			// The deletion was not begun, or is done.
			err = e.records.dropRecord(e.ctx, kindDeletion, place(key), store.Fence{})
		} else if err == nil {
			err = e.delete(e.ctx, key)
		}
		if err == nil || errors.Is(err, ErrClosed) || e.newer.skips(key, err) {
			return
		}
		e.opts.Logger.Warn("a conversation could not be deleted yet", "conversation", key, "error", err)
		pause(e.ctx, retryDelay(attempt))
	}
}
