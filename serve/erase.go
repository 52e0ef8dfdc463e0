package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// eraser removes conversations with their logs and notes, and keeps what they have cost.
type eraser struct {
	fleet   fleet.Conversations
	logs    *logs
	notes   noteStore
	book    eventlog.Store
	records store.Records
	project string
	journal *journal
}

// erase removes everything about a conversation, even if the client leaves.
func (er *eraser) erase(ctx context.Context, key string) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	by := uuid.New()
	err := er.book.BeginErasing(ctx, key, by, func(h *eventlog.Head, _ time.Time) error {
		if h.Erasing != nil { // now a user has asked for it
			h.Erasing = &eventlog.Erasure{Unbooked: h.Erasing.Unbooked}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return er.finishLater(key, by, er.eraseBegun(ctx, key, by))
}

// finishLater returns err, and if it is not nil finishes the deletion in the
// background. If nothing was deleted, that ends at once.
func (er *eraser) finishLater(key, by string, err error) error {
	if err != nil {
		er.logs.tryErasing(key, func() { er.eraseWhenSent(key, by) })
	}
	return err
}

// eraseUnused removes a conversation unless a prompt was accepted for it, or may still
// be, such as that of another run of the same thread. A deletion that has already begun
// is finished in any case.
func (er *eraser) eraseUnused(ctx context.Context, key string) error {
	by := uuid.New()
	err := er.book.BeginErasing(ctx, key, by, func(h *eventlog.Head, now time.Time) error {
		if h.Erasing != nil {
			return nil
		}
		h.Erasing = &eventlog.Erasure{IfUnused: true}
		return er.book.CheckUnused(ctx, key, h, now)
	})
	if errors.Is(err, eventlog.ErrUsed) {
		return nil
	}
	if err != nil {
		return err
	}
	return er.finishLater(key, by, er.eraseClosed(ctx, key, by))
}

// eraseClosed removes a conversation whose log is closed. If it is to be removed only
// while unused, it stays if the fleet has used it. That condition is in the head of the
// log, so that a server that continues after a crash checks it as well.
func (er *eraser) eraseClosed(ctx context.Context, key, by string) error {
	head, _, err := er.book.Head(ctx, key)
	if err != nil {
		return err
	}
	if head.Erasing == nil || !head.Erasing.IfUnused {
		return er.eraseBegun(ctx, key, by)
	}
	used, err := er.usedInFleet(ctx, key)
	switch {
	case err != nil:
		return err
	case used:
		return er.undelete(ctx, key, by)
	}
	return er.eraseBegun(ctx, key, by)
}

// undelete reopens a conversation that is not to be deleted after all. It changes the
// note before the log: while the log is closed, no other deletion removes the note.
func (er *eraser) undelete(ctx context.Context, key, by string) error {
	if err := er.notes.unmarkDeleted(ctx, key); err != nil {
		return err
	}
	return er.book.EndErasing(ctx, key, by)
}

// usedInFleet reports whether the fleet has or had a prompt for a conversation. It asks
// twice, because the fleet reads the cost of a conversation before its queue: a prompt
// that ends in between is in neither.
func (er *eraser) usedInFleet(ctx context.Context, key string) (bool, error) {
	for range 2 {
		info, err := er.fleet.Get(ctx, key)
		switch {
		case errors.Is(err, fleet.ErrUnknown), errors.Is(err, fleet.ErrDeleted):
			return false, nil
		case err != nil:
			return false, err
		case info.Queued > 0 || info.Cost.Turns > 0:
			return true, nil
		}
	}
	return false, nil
}

// eraseBegun removes a conversation whose log is closed. The note goes last, as a
// tombstone: until then the deletion can be repeated, and the next server to start does
// so.
func (er *eraser) eraseBegun(ctx context.Context, key, by string) error {
	first, awaited := false, false
	now, err := er.records.Now(ctx)
	var info fleet.ConversationInfo
	if err == nil {
		if info, err = er.fleet.Get(ctx, key); overWith(err) {
			err = nil
		}
	}
	if err == nil {
		first, err = er.notes.markDeleted(ctx, key, info.Created, now)
	}
	if err == nil {
		err = er.closeBooks(ctx, key, by, info.Unprompted, now)
	}
	if err == nil { // before the fleet deletes: its deletion covers whatever was sent until then
		awaited, err = er.awaitsPrompts(ctx, key)
	}
	if err == nil {
		err = er.deleteInFleet(ctx, key)
	}
	if err != nil {
		return errors.Join(err, er.stopErasing(ctx, key, by, first))
	}
	er.logs.drop(key)
	if awaited {
		er.logs.inBackground(func() { er.eraseWhenSent(key, by) })
		return nil
	}
	return er.eraseRest(ctx, key, by)
}

// deleteInFleet removes the fleet's part of a conversation.
func (er *eraser) deleteInFleet(ctx context.Context, key string) error {
	err := er.fleet.Delete(ctx, key)
	if errors.Is(err, fleet.ErrUnknown) {
		return nil
	}
	return err
}

// stopErasing reopens a conversation that could not be deleted, for example because
// another process is running it. If it may be half deleted, it stays closed, and the
// next attempt may begin at once.
func (er *eraser) stopErasing(ctx context.Context, key, by string, first bool) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if first {
		if _, err := er.fleet.Get(ctx, key); err == nil {
			return er.undelete(ctx, key, by)
		}
	}
	return er.book.ChangeErasing(ctx, key, by, func(e *eventlog.Erasure) *eventlog.Erasure { return e.PassTo(by, time.Time{}) })
}

// eraseWhenSent removes the rest of a conversation once no sender can still give the
// fleet a prompt for it, which would begin the conversation again.
func (er *eraser) eraseWhenSent(key, by string) {
	ctx, warned := er.logs.ctx, false
	for attempt := 0; ctx.Err() == nil; attempt++ {
		waitTurn(ctx, nil, backoff(attempt))
		awaited, err := er.awaitsPrompts(ctx, key)
		if err == nil && !awaited {
			err = er.finishErasing(ctx, key, by)
		}
		switch {
		case err == nil && !awaited:
			return
		case err != nil && !beingErased(err) && !warned:
			warned = true
			er.journal.warn(ctx, "a conversation is not deleted completely yet", key, err)
		}
	}
}

// awaitsPrompts reports whether the fleet may still get a prompt for a conversation.
func (er *eraser) awaitsPrompts(ctx context.Context, key string) (bool, error) {
	now, err := er.records.Now(ctx)
	if err != nil {
		return false, err
	}
	head, _, err := er.book.Head(ctx, key)
	return head.Awaited(now), err
}

// finishErasing removes what is left of a conversation whose deletion has begun. If
// another process may still be deleting it, the error is that problem.
func (er *eraser) finishErasing(ctx context.Context, key, by string) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	// The note before the log: a tombstone that was there before the log proved to be gone
	// is a remainder. One that comes later is of another attempt, which may still fail
	// and need the note again.
	tombstone, err := er.notes.tombstone(ctx, key)
	if err != nil {
		return err
	}
	err = er.book.BeginErasing(ctx, key, by, func(h *eventlog.Head, _ time.Time) error {
		if h.Erasing == nil {
			return errErased
		}
		return nil
	})
	if errors.Is(err, errErased) {
		return er.notes.dropTombstone(ctx, key, tombstone)
	}
	if err != nil {
		return err
	}
	return er.eraseClosed(ctx, key, by)
}

// errErased means that a log is not being deleted: it is gone, or a new one.
var errErased = errors.New("the log is not being deleted")

// eraseRest removes the log and then the note. The spending stays.
func (er *eraser) eraseRest(ctx context.Context, key, by string) error {
	if err := er.keepSpending(ctx, key); err != nil {
		return err
	}
	if err := er.forgetAbout(ctx, key); err != nil {
		return err
	}
	if err := er.book.Drop(ctx, key, by); err != nil {
		return err
	}
	er.logs.pulse.mark(key) // only now do the readers at other servers see that it is gone
	return er.notes.drop(ctx, key)
}

// beingErased reports whether an error means that a conversation is being deleted, such as
// by another attempt.
func beingErased(err error) bool { return deleting.is(err) || errors.Is(err, eventlog.ErrErasing) }

// overWith reports whether an error means that a conversation is deleted, is about to
// be, or does not exist.
func overWith(err error) bool {
	return beingErased(err) || notFound.is(err) || errors.Is(err, eventlog.ErrDeleted) || errors.Is(err, fleet.ErrDeleted) || errors.Is(err, fleet.ErrUnknown)
}

// forgetAbout removes the stored answers about a deleted conversation. Their records
// stay, marked as deleted: a repeated request must not run again, because it could
// begin the conversation anew.
func (er *eraser) forgetAbout(ctx context.Context, key string) error {
	for r, err := range er.records.Scan(ctx, store.Folder{Project: er.project, Kind: kindOnce}, "") {
		var o idempotencyRecord
		if err != nil {
			return err
		}
		if recordio.Decode(r, &o) != nil || o.About != key || o.Deleted {
			continue
		}
		o.Header, o.Body, o.Deleted = nil, nil, true
		if _, err := recordio.Put(ctx, er.records, r.Key, &o, r.Revision); err != nil && !errors.Is(err, store.ErrConflict) {
			return err // after a conflict, another process has forgotten it
		}
	}
	return nil
}
