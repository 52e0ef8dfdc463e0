package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// copying is a session that is being copied for a new conversation. The record is
// written before the copy and removed when the conversation exists, like an entry of a
// write-ahead log: what a crash leaves in between is found and removed.
type copying struct {
	Key     string    `json:"key"`
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	// Abandoned means that the copy is being removed, and no conversation may be made
	// of it any more.
	Abandoned bool `json:"abandoned,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`

	revision int64
}

// copyBound is how long a copy is left alone. The process that makes it takes less
// time, or gives up.
const copyBound = 10 * time.Minute

// copier makes conversations of copies of sessions, and removes abandoned copies.
type copier struct {
	opts    *Options
	ctx     context.Context // ends with Close
	running *sync.WaitGroup
	store   *announcer
	newer   *newerRecords
	records *records
	leases  *leases
}

// copyTo makes a conversation of a session that copy makes for it, under a fresh id. If
// that fails, the copy is removed, at the latest by a fleet that opens later.
func (cp *copier) copyTo(ctx context.Context, rec *record, copy func(ctx context.Context, session string) error) error {
	ctx, cancel := context.WithTimeout(ctx, copyBound/2)
	defer cancel()
	rec.Session = uuid.New()
	c := &copying{Key: rec.Key, Session: rec.Session, At: rec.Created}
	if err := cp.putCopying(ctx, c); err != nil {
		return err
	}
	err := copy(ctx, rec.Session)
	if err == nil {
		// The write fails if the copy was given up for dead, and buys time for the
		// rest.
		c.At, err = cp.store.Now(ctx)
	}
	if err == nil {
		err = cp.putCopying(ctx, c)
	}
	if err == nil {
		err = cp.beginCopy(ctx, rec)
		if err != nil && !errors.Is(err, ErrExists) {
			return err // the conversation may come yet, and needs its session
		}
	}
	ctx, stop := context.WithTimeout(outlasting(ctx), min(time.Minute, cp.opts.StoreTimeout))
	defer stop()
	if left := cp.finishCopy(ctx, c); left != nil {
		cp.opts.Logger.Warn("the next fleet to open looks whether the copy of a session is needed", "conversation", rec.Key, "session", rec.Session, "error", left)
	}
	return err
}

// putCopying writes the record of a copy.
func (cp *copier) putCopying(ctx context.Context, c *copying) (err error) {
	c.revision, err = cp.records.put(ctx, kindCopying, c.Session, c, c.revision, store.Fence{})
	return err
}

// finishCopy removes the rest of an abandoned copy: the session, unless it belongs to a
// conversation, and then the record.
func (cp *copier) finishCopy(ctx context.Context, c *copying) error {
	there, err := cp.records.read(ctx, c.Key)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return err
	}
	if err != nil || !slices.Contains(there.sessions(), c.Session) {
		if !c.Abandoned {
			c.Abandoned = true
			if err := cp.putCopying(ctx, c); err != nil {
				return err
			}
		}
		if err := cp.store.Delete(ctx, store.Key{Project: cp.opts.Project, Session: c.Session}, store.Fence{}); err != nil {
			return err
		}
	}
	return cp.records.dropRecord(ctx, kindCopying, c.Session, store.Fence{})
}

// finishCopies removes the copies of processes that died while they copied.
func (cp *copier) finishCopies(ctx context.Context) error {
	for r, err := range cp.store.Scan(ctx, store.Folder{Project: cp.opts.Project, Kind: kindCopying}, "") {
		var c copying
		if err == nil {
			err = decode(r, &c)
		}
		if cp.newer.skips(r.Key.Name, err) {
			continue
		}
		if err != nil {
			return err
		}
		cp.running.Go(func() { cp.finishCopyOf(c.Session) })
	}
	return nil
}

// finishCopyOf waits until no process can be making a copy any more, and removes the
// rest.
func (cp *copier) finishCopyOf(session string) {
	for attempt := 0; cp.ctx.Err() == nil; attempt++ {
		wait, err := cp.finishCopyIfOld(cp.ctx, session)
		if err == nil && wait == 0 {
			return
		}
		if err != nil {
			cp.opts.Logger.Warn("a copy of a session could not be removed yet", "session", session, "error", err)
			wait = retryDelay(attempt)
		}
		pause(cp.ctx, wait)
	}
}

// finishCopyIfOld removes the rest of a copy, or returns how long it must be left
// alone.
func (cp *copier) finishCopyIfOld(ctx context.Context, session string) (wait time.Duration, err error) {
	r, err := store.Get(ctx, cp.store, cp.records.key(kindCopying, session))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	var c copying
	if err == nil {
		err = decode(r, &c)
	}
	if err != nil {
		return 0, err
	}
	c.revision = r.Revision
	now, err := cp.store.Now(ctx)
	if err != nil {
		return 0, err
	}
	if wait := c.At.Add(copyBound).Sub(now); wait > 0 && !c.Abandoned {
		return wait, nil
	}
	if err := cp.finishCopy(ctx, &c); err != nil {
		return 0, fmt.Errorf("session %s: %w", session, err)
	}
	return 0, nil
}
