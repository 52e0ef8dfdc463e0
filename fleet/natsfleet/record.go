package natsfleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// GetRecord implements [store.Records].
func (s *Store) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return store.Record{}, err
	}
	m, err := s.last(ctx, s.layout.record(k.Project, k.Kind, k.Name))
	if err == nil && (m == nil || m.header.Get(headerGone) != "") {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Record{}, fail(k, err)
	}
	r, err := s.record(ctx, k, *m)
	return r, fail(k, err)
}

// record makes a record from its last message, and from the messages with the
// beginning of a large value.
func (s *Store) record(ctx context.Context, k store.RecordKey, m stored) (store.Record, error) {
	r := store.Record{Key: k, Value: m.data, Revision: int64(m.seq)}
	more := m.header.Get(headerMore)
	if more == "" {
		return r, nil
	}
	want, err := strconv.Atoi(more)
	if err != nil {
		return r, fmt.Errorf("%w: it has %q parts", store.ErrDamaged, more)
	}
	all, err := s.collect(ctx, s.layout.overflow(k.Project, k.Kind, k.Name))
	if err != nil {
		return r, err
	}
	var value []byte
	for _, part := range all {
		if part.header.Get(headerNonce) == m.header.Get(headerNonce) && want > 0 {
			value = append(value, part.data...)
			want--
		}
	}
	if want != 0 {
		now, err := s.last(ctx, m.subject)
		if err == nil && now != nil && now.seq == m.seq {
			err = fmt.Errorf("%w: %d of its %s parts are missing", store.ErrDamaged, want, more)
		}
		if err != nil {
			return r, err
		}
		return s.GetRecord(ctx, k) // it was changed in the meantime
	}
	r.Value = append(value, m.data...)
	return r, nil
}

// PutRecord implements [store.Records].
func (s *Store) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	if err := cmp.Or(store.CheckPut(k, value, revision, f), ctx.Err()); err != nil {
		return 0, err
	}
	m := outgoing{subject: s.layout.record(k.Project, k.Kind, k.Name), header: map[string]string{}, expect: true, last: uint64(revision), replace: true}
	first := s.overflow(k, &m, value)
	for {
		seq, err := s.change(ctx, f, append(slices.Clone(first), m)...)
		if !errors.Is(err, errMoved) {
			return int64(seq), fail(k, err)
		}
		if revision != 0 {
			return 0, fail(k, store.ErrConflict)
		}
		// The record was dropped before, and the message that marks it as gone
		// was still there when we tried.
		was, err := s.last(ctx, m.subject)
		switch {
		case err != nil:
			return 0, fail(k, err)
		case was == nil:
			m.last = 0
		case was.header.Get(headerGone) == "":
			return 0, fail(k, store.ErrConflict)
		default:
			m.last = was.seq
		}
	}
}

// overflow splits a value that is too large for one message: the beginning goes
// into messages of its own, the end into last.
func (s *Store) overflow(k store.RecordKey, last *outgoing, value []byte) []outgoing {
	var first []outgoing
	for size := s.part(); len(value) > size; value = value[size:] {
		first = append(first, outgoing{subject: s.layout.overflow(k.Project, k.Kind, k.Name) + ".v", data: bytes.Clone(value[:size]), replace: len(first) == 0})
	}
	if len(first) > 0 {
		last.header[headerMore] = strconv.Itoa(len(first))
	}
	last.data = bytes.Clone(value)
	return first
}

// change writes messages by compare-and-set, under a fence. A message can carry
// only one condition, so the fence is on a message of its own, in the same
// batch.
func (s *Store) change(ctx context.Context, f store.Fence, messages ...outgoing) (uint64, error) {
	guard, unlock, err := s.fenced(ctx, f)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if guard != "" {
		messages = append([]outgoing{s.guardMessage(guard, f)}, messages...)
	}
	seq, err := s.write(ctx, messages...)
	if errors.Is(err, errMoved) {
		if lost := s.lost(ctx, f); lost != nil {
			return 0, lost
		}
	}
	return seq, err
}

// guardMessage is a message that the server accepts only while the fence holds.
// It makes the whole batch depend on the fence.
func (s *Store) guardMessage(guard string, f store.Fence) outgoing {
	subject := strings.TrimSuffix(guard, ".e") + ".g"
	return outgoing{subject: subject, expect: true, last: uint64(f.Token), guard: guard, replace: true, ttl: markTTL}
}

// DropRecord implements [store.Records]. The message that marks the record as
// gone expires by itself.
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	if err := cmp.Or(store.CheckDrop(k, revision, f), ctx.Err()); err != nil {
		return err
	}
	subject := s.layout.record(k.Project, k.Kind, k.Name)
	err := errMoved
	if revision != 0 {
		gone := map[string]string{headerGone: "1"}
		_, err = s.change(ctx, f, outgoing{subject: subject, header: gone, expect: true, last: uint64(revision), replace: true, ttl: markTTL})
	}
	if !errors.Is(err, errMoved) {
		return fail(k, err)
	}
	m, err := s.last(ctx, subject)
	switch {
	case err != nil:
	case m == nil || m.header.Get(headerGone) != "":
		err = store.ErrNotFound
	default:
		err = store.ErrConflict
	}
	return fail(k, err)
}
