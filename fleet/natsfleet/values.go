package natsfleet

import (
	"cmp"
	"context"

	"github.com/nats-io/nats.go"
)

// A kind can have more records than fit into memory, and a scan yields them in the order
// of their names, which is not that of the stream. So a scan remembers which records
// there are, and the values only of those that come first in the stream, up to a bound.
// The others are read once more, some at a time, when it is their turn.

// usualScanBytes is how much a scan remembers of the messages that it has read.
const usualScanBytes = 32 << 20

// headerBytes is about what the headers of a message take.
const headerBytes = 1 << 10

// lightly drops the data and most of the headers of the messages that do not fit into
// room. It returns how much room is left.
func lightly(page []stored, room int) int {
	for i := range page {
		m := &page[i]
		if room -= len(m.data) + headerBytes; room >= 0 || !m.ours() {
			continue // a message that is not ours is removed, and its size is logged
		}
		m.left, m.data = max(len(m.data), 1), nil
		all := m.header
		m.header = make(nats.Header)
		for _, name := range []string{headerNonce, headerGone} {
			if value := all.Get(name); value != "" {
				m.header.Set(name, value)
			}
		}
	}
	return room
}

// named is the last message of a record, with the record's name.
type named struct {
	name string
	stored
}

// Bounds of one read when values are read again.
const (
	valuesCount    = 200
	valuesBytes    = 1 << 20
	valuesSubjects = room / 2 // bytes of a request
)

// together returns how many of the first records are read at once.
func together(all []named) (n int) {
	bytes, subjects := 0, 0
	for _, one := range all {
		bytes += one.left
		subjects += len(one.subject) + len(`"",`)
		if n > 0 && (n == valuesCount || bytes > valuesBytes || subjects > valuesSubjects) {
			break
		}
		n++
	}
	return n
}

// values reads the messages once more whose data was left out. Records that were dropped
// in the meantime are not in the result.
func (s *Store) values(ctx context.Context, prefix string, some []named) ([]named, error) {
	var subjects []string
	for _, one := range some {
		if one.left > 0 {
			subjects = append(subjects, one.subject)
		}
	}
	if len(subjects) == 0 {
		return some, nil
	}
	now, err := s.lastsNow(ctx, prefix, subjects)
	if err != nil {
		return nil, err
	}
	var there []named
	for _, one := range some {
		if one.left > 0 {
			m, ok := now[one.subject]
			if !ok || m.header.Get(headerGone) != "" {
				continue
			}
			one.stored = m
		}
		there = append(there, one)
	}
	return there, nil
}

// lastsNow returns the last messages of subjects below a prefix, by their subjects. Any
// replica may answer: its answer counts if it has the barrier in it.
func (s *Store) lastsNow(ctx context.Context, prefix string, subjects []string) (map[string]stored, error) {
	barrier, err := s.barrier(ctx, prefix)
	if err != nil {
		return nil, err
	}
	last := make(map[string]stored, len(subjects))
	ask := map[string]any{"multi_last": append(subjects, barrierBelow(prefix))}
	err = s.withRetry(ctx, loadBound, func(ctx context.Context) error {
		clear(last)
		a, err := s.direct(ctx, ask)
		if err != nil {
			return err
		}
		passed := false
		for _, m := range a.page {
			if !m.ours() {
				return cmp.Or(s.removeForeign(ctx, &m), errStale)
			}
			passed = passed || m.seq >= barrier && m.subject == barrierBelow(prefix)
			last[m.subject] = m
		}
		if a.more || !passed {
			return errStale
		}
		return nil
	})
	return last, err
}
