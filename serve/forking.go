package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// forking is the write-ahead record of a copy that is being made for a new
// conversation. It exists from before the copy until the conversation has its note:
// without it, the copy that a dying server leaves in between would never be found.
type forking struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	// Abandoned means that the copy is being removed, so no request may use it.
	Abandoned bool `json:"abandoned,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

func (rc *recovery) forkingAt(key string) store.RecordKey {
	return store.RecordKey{Project: rc.project, Kind: kindFork, Name: recordio.Place(key)}
}

// beginFork notes that a copy is about to be made. A repeated request renews the
// record, and so has all its time again.
func (rc *recovery) beginFork(ctx context.Context, key string) error {
	for {
		now, err := rc.records.Now(ctx)
		if err != nil {
			return err
		}
		old, revision, err := recordio.Get[forking](ctx, rc.records, rc.forkingAt(key))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if old.Abandoned {
			return beingDeleted()
		}
		_, err = recordio.Put(ctx, rc.records, rc.forkingAt(key), &forking{Key: key, At: now.UTC()}, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// endFork drops the record if the copy now belongs to a conversation, if none was made,
// or if the copy was used in the fleet directly. Otherwise the record stays.
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
		err = recordio.Drop(ctx, rc.records, rc.forkingAt(key))
	}
	if err != nil {
		rc.journal.warn(ctx, "the next start of the server looks whether a copy is needed", key, err)
	}
}

// recoverForks removes the copies that a dying server has left. It first waits for
// requests that may still be making theirs. If the store fails it tries again, because
// the request for a copy cannot be repeated until the copy is gone.
func (rc *recovery) recoverForks(ctx context.Context) {
	for ctx.Err() == nil {
		later := false
		for r, err := range rc.records.Scan(ctx, store.Folder{Project: rc.project, Kind: kindFork}, "") {
			var f forking
			if err == nil {
				err = recordio.Decode(r, &f)
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
		waitTurn(ctx, nil, eventlog.SettledAfter)
	}
}

// recoverForking removes a copy that has no note and was never used. It reports whether
// that has to wait.
func (rc *recovery) recoverForking(ctx context.Context, f *forking, revision int64) (wait bool, err error) {
	_, _, err = rc.notes.loadAny(ctx, f.Key)
	if errors.Is(err, store.ErrNotFound) {
		now, err := rc.records.Now(ctx)
		if err != nil {
			return false, err
		}
		if !f.Abandoned && now.Sub(f.At) < eventlog.SettledAfter {
			return true, nil
		}
		f.Abandoned = true
		if _, err := recordio.Put(ctx, rc.records, rc.forkingAt(f.Key), f, revision); err != nil {
			return errors.Is(err, store.ErrConflict), err // the request was repeated
		}
		if err := rc.eraser.eraseUnused(ctx, f.Key); err != nil {
			return beingErased(err), err
		}
	} else if err != nil {
		return false, err
	}
	return false, recordio.Drop(ctx, rc.records, rc.forkingAt(f.Key))
}
