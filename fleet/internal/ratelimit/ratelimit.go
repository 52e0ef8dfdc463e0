// Package ratelimit limits how often something happens, in one process or, by a record
// in a store, in all that share it.
//
// It is the generic cell rate algorithm: one time is kept for each name, the one at
// which the next event would be due if all came evenly. An earlier event is let through
// for as long as the burst allows. So only one time is stored, and counting an event is
// one compare-and-set.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

// Limit lets Per/Each events through in a time Per, at once or evenly.
type Limit struct {
	Each, Per time.Duration
}

// slack is how far the times of two callers may differ, because of their clocks or because
// one of them had to wait.
const slack = 10 * time.Second

// Take returns the time to keep after an event at now, and how long to wait until the
// limit allows it: if that is not 0, the event does not count. A time that is too far
// ahead was written by another clock, or under another limit. It is cut, so that it
// delays an event by Each; the caller must keep it, or the next event finds the old
// one.
func (l Limit) Take(due, now time.Time) (next time.Time, wait time.Duration) {
	if due.Before(now) {
		due = now
	}
	if latest := now.Add(l.Per); due.After(latest.Add(slack)) {
		due = latest
	}
	if wait = due.Sub(now) - (l.Per - l.Each); wait > 0 {
		return due, wait
	}
	return due.Add(l.Each), 0
}

// Kind is the kind of the records of a Shared.
const Kind = "rate"

// taken is the record of a name.
type taken struct {
	Due time.Time `json:"due"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`

	revision int64 // 0: there is none
}

// Shared limits events in all processes that share a store. Its methods may be called
// from any goroutine. It needs no Close.
type Shared struct {
	store   store.Records
	project string
	seed    maphash.Seed
	turns   [64]chan struct{} // one slot each: in this process, one event of a name is counted at a time

	mu    sync.Mutex
	known map[string]taken // as last read or written here
}

// NewShared returns the limits of a project.
func NewShared(s store.Records, project string) *Shared {
	r := &Shared{store: s, project: project, seed: maphash.MakeSeed(), known: make(map[string]taken)}
	for i := range r.turns {
		r.turns[i] = make(chan struct{}, 1)
	}
	return r
}

const (
	// attempts is how often a write that conflicts with others is tried.
	attempts = 8
	// firstPause is the longest pause before the second attempt. It doubles.
	firstPause = 4 * time.Millisecond
	// maxKnown is how many names are kept in memory.
	maxKnown = 10_000
)

// Take counts an event and returns 0, or returns how long to wait if the limit does not
// allow it. now is the time of the store. An event whose write conflicts with others
// again and again is not counted either: it is one of too many at this moment. After an
// error, it may have been counted.
func (s *Shared) Take(ctx context.Context, name string, l Limit, now time.Time) (wait time.Duration, err error) {
	turn := s.turns[maphash.String(s.seed, name)%uint64(len(s.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	for attempt := range attempts {
		if ctx.Err() != nil { // both may have been ready
			return 0, context.Cause(ctx)
		}
		was, err := s.read(ctx, name)
		if err != nil {
			return 0, err
		}
		next, wait := l.Take(was.Due, now)
		if wait > 0 && next.Equal(was.Due) {
			return wait, nil
		}
		was.Due = next
		err = s.write(ctx, name, was)
		if err == nil {
			return wait, nil
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
		if err := pause(ctx, rand.N(firstPause<<attempt)+time.Millisecond); err != nil {
			return 0, err
		}
	}
	return l.Each, nil
}

// read returns the time of a name, from memory or from the store. One that is stale is
// too early, so it refuses nothing wrongly, or is cut, and the write finds out. A
// damaged record counts as none, and the next write replaces it.
func (s *Shared) read(ctx context.Context, name string) (t taken, err error) {
	s.mu.Lock()
	t, ok := s.known[name]
	s.mu.Unlock()
	if ok {
		return t, nil
	}
	r, err := store.Get(ctx, s.store, s.key(name))
	if errors.Is(err, store.ErrNotFound) {
		return taken{}, nil
	}
	if err == nil {
		err = decode(r, &t)
	}
	if errors.Is(err, store.ErrDamaged) {
		t, err = taken{}, nil
	}
	t.revision = r.Revision
	return t, err
}

// write stores the time of a name. After an error it is read again.
func (s *Shared) write(ctx context.Context, name string, t taken) error {
	value, err := recordform.Encode(&t)
	if err == nil {
		t.revision, err = store.Put(ctx, s.store, s.key(name), value, t.revision, store.Fence{})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.known, name)
		return err
	}
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[name] = t
	return nil
}

func (s *Shared) key(name string) store.RecordKey {
	return store.RecordKey{Project: s.project, Kind: Kind, Name: name}
}

// Forget removes the records of a project that have limited nothing since a time, and
// damaged ones. Those of a newer version stay.
func Forget(ctx context.Context, s store.Records, project string, before time.Time) error {
	for r, err := range s.Scan(ctx, store.Folder{Project: project, Kind: Kind}, "") {
		if err != nil {
			return err
		}
		var t taken
		err := decode(r, &t)
		if errors.Is(err, store.ErrNewer) || err == nil && !t.Due.Before(before) {
			continue
		}
		err = store.Drop(ctx, s, r.Key, r.Revision, store.Fence{})
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

func decode(r store.Record, v any) error {
	if err := recordform.Decode(r, v); err != nil {
		return fmt.Errorf("claude: fleet: %w", err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
