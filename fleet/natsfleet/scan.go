package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// scanFrom yields the records of a folder from behind a name.
func (s *records) scanFrom(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(f.Check(), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		s.scan(ctx, f, func(name string) bool { return name > after }, yield)
	}
}

// scan yields the records of a folder in the order of their names.
func (s *records) scan(ctx context.Context, f store.Folder, wanted func(name string) bool, yield func(store.Record, error) bool) {
	base, prefix := s.layout.kind(f.Project, f.Kind), s.layout.folder(f)
	found, err := s.present(ctx, prefix)
	if err != nil {
		yield(store.Record{}, fail(f, err))
		return
	}
	var all []named
	for _, m := range found {
		if name := untokens(strings.TrimPrefix(m.subject, base+".")); wanted(name) {
			all = append(all, named{name, m})
		}
	}
	found = nil // what follows may take long
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	for len(all) > 0 {
		n := together(all)
		some, err := s.values(ctx, prefix, all[:n])
		if err != nil {
			yield(store.Record{}, fail(f, err))
			return
		}
		all = all[n:]
		for _, one := range some {
			r, err := s.record(ctx, store.RecordKey{Project: f.Project, Kind: f.Kind, Name: one.name}, one.stored)
			if errors.Is(err, store.ErrNotFound) {
				continue // dropped in the meantime
			}
			if err = fail(one.name, cmp.Or(err, ctx.Err())); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// present returns the last message of each record below a prefix that was not
// dropped, by subject. If they are larger than scanBytes in all, their data is left
// out.
func (s *records) present(ctx context.Context, prefix string) (map[string]stored, error) {
	from, seen := s.floors.of(prefix)
	all, barrier, err := s.lastFrom(ctx, prefix, from)
	if err == nil && barrier < from {
		// The stream was recreated, and counts from the beginning.
		from, seen = 1, time.Now()
		all, barrier, err = s.lastFrom(ctx, prefix, from)
	}
	if err != nil {
		return nil, err
	}
	found := make(map[string]stored)
	dropped := 0
	for _, m := range all {
		delete(found, m.subject)
		if m.header.Get(headerGone) == "" {
			found[m.subject] = m
		} else {
			dropped++
		}
	}
	if from == 1 && dropped <= fewDropped {
		return found, nil
	}
	lowest := barrier
	for _, m := range found {
		lowest = min(lowest, m.seq)
	}
	s.floors.set(prefix, lowest, seen)
	return found, nil
}

// lastFrom is collectFrom for records: only the last message of each counts. A
// foreign message may hide the record's own, so where it meets one it reads all.
func (s *records) lastFrom(ctx context.Context, prefix string, from uint64) ([]stored, uint64, error) {
	return s.behindBarrier(ctx, prefix, from, s.scanBytes, func(ctx context.Context, from uint64) ([]stored, bool, error) {
		if from == 1 {
			page, more, err := s.lastOfEach(ctx, prefix)
			foreign := slices.ContainsFunc(page, func(m stored) bool { return !m.ours() })
			if !foreign && !errors.Is(err, errMany) {
				return page, more, err
			}
		}
		return s.page(ctx, prefix+".>", from)
	})
}

// floors remembers below which sequence a folder of records has nothing. A dropped
// record leaves a tombstone that stays for a moment, and a folder such as the queue of
// a conversation drops all that it ever had: read from the beginning, it would cost
// more with every prompt of that moment. A record that changes gets a higher sequence,
// so a floor, once true, stays true. It is noted only after a read in which nothing was
// lost, see follows. Only the numbers are kept, so a scan never returns something that
// the server does not have.
//
// Only an operator who restores a stream can put a record below its floor. So now and
// then everything is read.
type floors struct {
	mu    sync.Mutex
	all   map[string]floor
	swept time.Time // when outdated ones were last forgotten
}

type floor struct {
	seq  uint64
	seen time.Time // when all was read
}

// fewDropped is how many dropped records are read again rather than left out by a floor:
// the server finds the last message of each record faster than all messages from a
// sequence on, see lastOfEach.
const fewDropped = 32

// floorAge is how long a floor is trusted.
const floorAge = time.Minute

// maxFloors is how many floors are remembered.
const maxFloors = 10_000

// of returns where to begin to read a folder, and since when everything below is known.
func (f *floors) of(prefix string) (from uint64, seen time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.all[prefix]
	if !ok || time.Since(known.seen) > floorAge {
		return 1, time.Now()
	}
	return known.seq, known.seen
}

// set takes note of what was read.
func (f *floors) set(prefix string, seq uint64, seen time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep()
	if _, ok := f.all[prefix]; !ok && len(f.all) >= maxFloors {
		for other := range f.all { // any: without one, a folder is read from the beginning
			delete(f.all, other)
			break
		}
	}
	f.all[prefix] = floor{seq, seen}
}

// forget forgets all floors.
func (f *floors) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.all)
}

// sweep forgets the floors of folders that rest, now and then. A map never shrinks,
// so the rest is copied into a new one.
func (f *floors) sweep() {
	if time.Since(f.swept) < floorAge {
		return
	}
	f.swept = time.Now()
	left := make(map[string]floor)
	for prefix, known := range f.all {
		if time.Since(known.seen) <= floorAge {
			left[prefix] = known
		}
	}
	f.all = left
}
