package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"
)

// Join makes the store of a fleet of two different stores: one keeps the transcripts, such
// as a bucket, and the other one leases and records, such as a database. Every process of
// the fleet joins the same two.
//
// A fence holds in both. Acquire takes a lease of the same name in the store of the
// transcripts too, so that this one also refuses an owner that was replaced. The lease of
// the fleet decides who may try; the other one follows it, and may last a little longer.
// While one of the two stores cannot be reached, leases are neither given out nor renewed.
//
// Watch also yields transcripts that other processes append or delete through a Join of
// their own. For that, each Append and Delete writes a record. A process that dies between
// the two announces nothing, so look at a transcript now and then as well.
//
// The kinds of records that begin with "store.join." belong to Join.
func Join(transcripts Sessions, rest Fleet) Fleet {
	return &joined{Transcripts: transcripts, Records: rest, side: transcripts, main: rest, held: make(map[Fence]pair), told: make(map[RecordKey]int64)}
}

// joined is two stores. A lease is taken in both: first in the main one, which decides who
// may try, then in the side one. Last, a record under the main lease names the token of the
// other: it can only be written by an owner that was not replaced in between. So the owner
// of the main lease also has the side lease, and one that was replaced can write to
// neither. An owner that dies between the steps leaves leases that expire.
type joined struct {
	Transcripts
	Records
	side, main Leases

	mu   sync.Mutex
	held map[Fence]pair      // by the fence of the main lease
	told map[RecordKey]int64 // revisions of announcements
}

// pair is the part that belongs to a main lease.
type pair struct {
	Version int   `json:"version"`
	Token   int64 `json:"token"` // of the main lease
	Other   int64 `json:"other"` // of the side lease

	revision int64 // of the record
}

const (
	joinVersion = 1
	joinKinds   = "store.join." // of all records of a Join
	leaseKind   = joinKinds + "leases"
	sessionKind = joinKinds + "sessions"
)

// Acquire implements [Leases].
func (j *joined) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (Lease, error) {
	for {
		l, err := j.main.Acquire(ctx, project, name, owner, ttl)
		if err != nil {
			return Lease{}, err
		}
		p, err := j.follow(ctx, l)
		if err == nil {
			j.mu.Lock()
			j.held[l.Fence] = p
			j.mu.Unlock()
			return l, nil
		}
		j.yield(ctx, l, err)
		if !errors.Is(err, ErrLeaseLost) {
			return Lease{}, err
		}
		// It took too long, and another owner has it now, or had it.
	}
}

// follow takes the side lease after the main one, and notes its token.
func (j *joined) follow(ctx context.Context, l Lease) (pair, error) {
	side, err := j.side.Acquire(ctx, l.Project, l.Name, l.Owner, l.TTL)
	if err != nil {
		return pair{}, err
	}
	p := pair{Version: joinVersion, Token: l.Token, Other: side.Token}
	value, err := json.Marshal(p)
	if err == nil {
		p.revision, err = j.put(ctx, RecordKey{l.Project, leaseKind, l.Name}, value, 0, l.Fence)
	}
	if err != nil {
		ctx, cancel := undoing(ctx)
		defer cancel()
		_ = j.side.Release(ctx, side) // or it expires
	}
	return p, err
}

// yield gives up a main lease that has no side lease. If a former owner still has that one,
// nothing can be done until it expires: the main lease lasts as long, so that waiting
// processes do not all try at once, again and again.
func (j *joined) yield(ctx context.Context, l Lease, why error) {
	ctx, cancel := undoing(ctx)
	defer cancel()
	if held, ok := errors.AsType[*HeldError](why); ok {
		l.TTL = min(l.TTL, max(held.For, time.Millisecond))
		_ = j.main.Renew(ctx, l) // or it lasts a little longer
		return
	}
	_ = j.main.Release(ctx, l) // or it expires
}

// undoing is a context to take something back, even if the one of the call has ended.
func undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// pair returns what belongs to a main lease. If this process has not acquired it, the
// record says so.
func (j *joined) pair(ctx context.Context, f Fence) (pair, error) {
	j.mu.Lock()
	p, ok := j.held[f]
	j.mu.Unlock()
	if ok {
		return p, nil
	}
	r, err := Get(ctx, j, RecordKey{f.Project, leaseKind, f.Name})
	switch {
	case errors.Is(err, ErrNotFound):
		return p, fmt.Errorf("claude: store: %s: %w", f.Name, ErrLeaseLost)
	case err != nil:
		return p, err
	case json.Unmarshal(r.Value, &p) != nil:
		return p, fmt.Errorf("claude: store: %v: %w", r.Key, ErrDamaged)
	case p.Version > joinVersion:
		return p, fmt.Errorf("claude: store: %v %w", r.Key, ErrNewer)
	case p.Token != f.Token:
		return p, fmt.Errorf("claude: store: %s: %w", f.Name, ErrLeaseLost)
	}
	p.revision = r.Revision
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held[f] = p
	return p, nil
}

// forget forgets what belongs to a main lease.
func (j *joined) forget(f Fence) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.held, f)
}

// other returns the fence of the side lease.
func (j *joined) other(ctx context.Context, f Fence) (Fence, error) {
	if f.IsZero() {
		return f, nil
	}
	p, err := j.pair(ctx, f)
	f.Token = p.Other
	return f, err
}

// Renew implements [Leases]. The side lease comes second: an owner that was replaced must
// not extend it and hold up its successor.
func (j *joined) Renew(ctx context.Context, l Lease) error {
	if err := j.main.Renew(ctx, l); err != nil {
		return err
	}
	side, err := j.other(ctx, l.Fence)
	if err != nil {
		return err
	}
	l.Fence = side
	return j.side.Renew(ctx, l)
}

// Release implements [Leases]. The side lease ends first, so that both tokens are void by
// the time the main lease is free.
func (j *joined) Release(ctx context.Context, l Lease) error {
	if err := cmp.Or(CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	p, err := j.pair(ctx, l.Fence)
	j.forget(l.Fence)
	switch {
	case err == nil:
		side := l
		side.Token = p.Other
		err = j.side.Release(ctx, side)
		dropErr := Drop(ctx, j, RecordKey{l.Project, leaseKind, l.Name}, p.revision, l.Fence)
		if !errors.Is(dropErr, ErrLeaseLost) && !errors.Is(dropErr, ErrNotFound) && !errors.Is(dropErr, ErrConflict) {
			err = errors.Join(err, dropErr)
		}
	case errors.Is(err, ErrLeaseLost):
		err = nil
	}
	return errors.Join(err, j.main.Release(ctx, l))
}

// Now implements [Leases].
func (j *joined) Now(ctx context.Context) (time.Time, error) { return j.main.Now(ctx) }

// Append implements [Transcripts].
func (j *joined) Append(ctx context.Context, k Key, b Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	f := b.Fence
	err := j.underBoth(ctx, f, func(side Fence) error {
		b.Fence = side
		return j.Transcripts.Append(ctx, k, b)
	})
	if err != nil || len(b.Entries) == 0 {
		return err
	}
	_, err = j.announce(ctx, k, f)
	return err
}

// Delete implements [Transcripts].
func (j *joined) Delete(ctx context.Context, k Key, f Fence) error {
	if err := cmp.Or(Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	err := j.underBoth(ctx, f, func(side Fence) error { return j.Transcripts.Delete(ctx, k, side) })
	if err != nil {
		return err
	}
	// Nothing is announced of it any more, so its records go. A call that is repeated after
	// an error removes the rest.
	if k.Sub == "" {
		for r, err := range j.Scan(ctx, Folder{Project: k.Project, Kind: joinKinds + k.Session}, "") {
			if err == nil {
				err = j.drop(ctx, r.Key, r.Revision)
			}
			if err != nil {
				return err
			}
		}
	}
	revision, err := j.announce(ctx, k, f)
	if err != nil {
		return err
	}
	return j.drop(ctx, announcing(k), revision)
}

// underBoth calls do with the fence of the side lease.
func (j *joined) underBoth(ctx context.Context, f Fence, do func(side Fence) error) error {
	side, err := j.other(ctx, f)
	if err == nil {
		err = do(side)
	}
	if errors.Is(err, ErrLeaseLost) {
		j.forget(f)
	}
	return err
}

// announcing is the record whose changes are those of a transcript.
func announcing(k Key) RecordKey {
	if k.Sub == "" {
		return RecordKey{k.Project, sessionKind, k.Session}
	}
	return RecordKey{k.Project, joinKinds + k.Session, k.Sub}
}

// announced is the transcript that a record announces, false if it announces none.
func announced(k RecordKey) (Key, bool) {
	session, _ := strings.CutPrefix(k.Kind, joinKinds)
	switch k.Kind {
	case leaseKind:
		return Key{}, false
	case sessionKind:
		return Key{Project: k.Project, Session: k.Name}, true
	}
	return Key{Project: k.Project, Session: session, Sub: k.Name}, true
}

// maxTold is how many revisions of announcements are remembered. Without one, an
// announcement takes three requests instead of one.
const maxTold = 10_000

// announce lets watchers know that a transcript was changed under a fence. If the fence is
// void by now, it was changed anyway.
func (j *joined) announce(ctx context.Context, k Key, f Fence) (int64, error) {
	key := announcing(k)
	j.mu.Lock()
	known := j.told[key]
	j.mu.Unlock()
	revision, err := j.put(ctx, key, nil, known, f)
	if errors.Is(err, ErrLeaseLost) {
		revision, err = j.put(ctx, key, nil, known, Fence{})
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.told) >= maxTold {
		clear(j.told)
	}
	j.told[key] = revision // 0 after an error
	return revision, err
}

// put writes a record, whatever revision it has.
func (j *joined) put(ctx context.Context, k RecordKey, value []byte, revision int64, f Fence) (int64, error) {
	for {
		next, err := Put(ctx, j, k, value, revision, f)
		if !errors.Is(err, ErrConflict) {
			return next, err
		}
		r, err := Get(ctx, j, k)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return 0, err
		}
		revision = r.Revision
	}
}

// drop removes the record of an announcement. If it has changed, there is something to
// announce again.
func (j *joined) drop(ctx context.Context, k RecordKey, revision int64) error {
	j.mu.Lock()
	delete(j.told, k)
	j.mu.Unlock()
	err := Drop(ctx, j, k, revision, Fence{})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// Watch implements [Records].
func (j *joined) Watch(ctx context.Context, project string) iter.Seq2[Changed, error] {
	return func(yield func(Changed, error) bool) {
		for c, err := range j.Records.Watch(ctx, project) {
			if c, ok := ofJoin(c); (ok || err != nil) && !yield(c, err) {
				return
			}
		}
	}
}

// ofJoin returns a change of the main store as one of both, false if it is not one.
func ofJoin(c Changed) (Changed, bool) {
	if c.Transcript != (Key{}) {
		return c, false // the transcripts are in the other store
	}
	if !strings.HasPrefix(c.Record.Kind, joinKinds) {
		return c, true
	}
	k, ok := announced(c.Record)
	return Changed{Transcript: k, By: c.By}, ok
}
