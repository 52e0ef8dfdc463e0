package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/store"
)

// forking says that a copy is being made for a new conversation. The record is there
// before the copy, and until the conversation has its note: without it, nobody would
// find the copy that a server leaves when it dies in between.
type forking struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	// Abandoned says that the copy is being removed, so no request may use it.
	Abandoned bool `json:"abandoned,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

func (rc *recovery) forkingAt(key string) store.RecordKey {
	return store.RecordKey{Project: rc.project, Kind: kindFork, Name: placeOf(key)}
}

// beginFork notes that a copy is about to be made. A request that is repeated does so
// again, and has all its time.
func (rc *recovery) beginFork(ctx context.Context, key string) error {
	for {
		now, err := rc.records.Now(ctx)
		if err != nil {
			return err
		}
		old, revision, err := getRecord[forking](ctx, rc.records, rc.forkingAt(key))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if old.Abandoned {
			return beingDeleted()
		}
		_, err = putRecord(ctx, rc.records, rc.forkingAt(key), &forking{Key: key, At: now.UTC()}, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// endFork notes that a copy belongs to a conversation, that none was made, or that the
// copy was used past the server. Otherwise the record stays.
func (rc *recovery) endFork(ctx context.Context, key string, made bool) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	var err error
	if !made {
		if _, err = rc.fleet.Get(ctx, key); errors.Is(err, fleet.ErrUnknown) {
			err = nil
		} else if err == nil {
			var used bool
			if used, err = rc.eraser.usedInFleet(ctx, key); err == nil && !used {
				return
			}
		}
	}
	if err == nil {
		err = dropRecord(ctx, rc.records, rc.forkingAt(key))
	}
	if err != nil {
		rc.journal.warn(ctx, "the next start of the server looks whether a copy is needed", key, err)
	}
}

// recoverForks removes the copies that a server has left when it died. Those that
// somebody may be making are left alone for a while. If the store fails, it tries again:
// until a copy is gone, the request for it cannot be repeated.
func (rc *recovery) recoverForks(ctx context.Context) {
	for ctx.Err() == nil {
		later := false
		for r, err := range rc.records.Scan(ctx, store.Folder{Project: rc.project, Kind: kindFork}, "") {
			var f forking
			if err == nil {
				err = decodeRecord(r, &f)
			}
			if err == nil {
				var wait bool
				wait, err = rc.recoverForking(ctx, &f, r.Revision)
				later = later || wait || err != nil
			}
			if err != nil {
				rc.journal.warn(ctx, "a copy that was cut off cannot be removed", f.Key, err)
			}
		}
		if !later {
			return
		}
		waitTurn(ctx, nil, settledAfter)
	}
}

// recoverForking removes a copy that has no note and that nobody has used. It reports
// whether that has to wait.
func (rc *recovery) recoverForking(ctx context.Context, f *forking, revision int64) (wait bool, err error) {
	_, _, err = rc.notes.loadAny(ctx, f.Key)
	if errors.Is(err, store.ErrNotFound) {
		now, err := rc.records.Now(ctx)
		if err != nil {
			return false, err
		}
		if !f.Abandoned && now.Sub(f.At) < settledAfter {
			return true, nil
		}
		f.Abandoned = true
		if _, err := putRecord(ctx, rc.records, rc.forkingAt(f.Key), f, revision); err != nil {
			return errors.Is(err, store.ErrConflict), err // the request was repeated
		}
		if err := rc.eraser.eraseUnused(ctx, f.Key); err != nil {
			return deleting.is(err), err
		}
	} else if err != nil {
		return false, err
	}
	return false, dropRecord(ctx, rc.records, rc.forkingAt(f.Key))
}
