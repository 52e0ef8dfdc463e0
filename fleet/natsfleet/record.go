package natsfleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/claude-agent-go/claude/store"
)

// records keeps records, each as the last message of a subject.
type records struct {
	*leases
	floors    floors
	scanBytes int
}

// get reads a record from the leader of the stream.
func (s *records) get(ctx context.Context, k store.RecordKey) (store.Record, error) {
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
func (s *records) record(ctx context.Context, k store.RecordKey, m stored) (store.Record, error) {
	r := store.Record{Key: k, Value: m.data, Revision: int64(m.seq)}
	more := m.header.Get(headerMore)
	if more == "" {
		return r, nil
	}
	want, err := strconv.Atoi(more)
	if err != nil {
		return r, fmt.Errorf("%w: it has %q parts", store.ErrDamaged, more)
	}
	all, err := s.readSubject(ctx, s.layout.part(k.Project, k.Kind, k.Name))
	if err != nil {
		return r, err
	}
	var value []byte
	for _, part := range all { // perhaps also of another write
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
		return s.get(ctx, k) // it was changed in the meantime
	}
	r.Value = append(value, m.data...)
	return r, nil
}

// changeAll makes changes as one atomic batch.
func (s *records) changeAll(ctx context.Context, changes []store.RecordChange, f store.Fence) ([]int64, error) {
	if err := cmp.Or(store.CheckChanges(changes, f), ctx.Err()); err != nil {
		return nil, err
	}
	what := any(changes[0].Key)
	if len(changes) > 1 {
		what = fmt.Sprintf("%v and %d more", what, len(changes)-1)
	}
	last := make([]uint64, len(changes)) // that the server must have of each
	for i, c := range changes {
		last[i] = uint64(c.Revision)
	}
	conditional := slices.ContainsFunc(changes, func(c store.RecordChange) bool { return c.IfEmpty != "" })
	var next []int64
	unsure := 0
	err := s.withRetry(ctx, loadBound, func(ctx context.Context) (err error) {
		if next, err = s.tryChanges(ctx, changes, last, f); errors.Is(err, errMoved) {
			err = s.unexpected(ctx, changes, last)
		}
		if conditional && errors.Is(err, errStale) {
			s.forgetEmpty(f)
			if unsure++; unsure > maxUnsure {
				return store.ErrConflict
			}
		}
		return err
	})
	return next, fail(what, err)
}

// tryChanges makes changes if the last messages of the records are the given ones. The
// conditions come first: a write that was lost is known again by its last message, and
// only a record's own is not soon replaced by another write's.
func (s *records) tryChanges(ctx context.Context, changes []store.RecordChange, last []uint64, f store.Fence) ([]int64, error) {
	var conditions, messages []outgoing
	ends := make([]int, len(changes)) // how many messages there are up to each record's
	for i, c := range changes {
		condition, err := s.condition(ctx, c, last[i], f)
		if err != nil {
			return nil, err
		}
		if condition.expect {
			condition.subject += "." + strconv.Itoa(i) // a batch replaces what a subject has once
			conditions = append(conditions, condition)
		}
		if !c.Keep {
			messages = append(messages, s.changeMessages(c, last[i], f)...)
		}
		ends[i] = len(messages)
	}
	seq, err := s.change(ctx, f, append(conditions, messages...)...)
	if err != nil {
		return nil, err
	}
	next := make([]int64, len(changes))
	for i, c := range changes {
		switch {
		case c.Keep:
			next[i] = c.Revision
		case !c.Drop: // the messages of a batch are one behind the other
			next[i] = int64(seq) - int64(len(messages)-ends[i])
		}
	}
	return next, nil
}

// condition is a message that the server accepts only if what a change depends on, beside
// its own record, is as expected. There may be none.
func (s *records) condition(ctx context.Context, c store.RecordChange, last uint64, f store.Fence) (outgoing, error) {
	switch {
	case c.Drop && c.Revision == 0:
		return outgoing{}, errMoved // the server would take it for a record that is not there
	case c.Keep:
		return s.carrier(c.Key.Project, f, s.layout.record(c.Key.Project, c.Key.Kind, c.Key.Name), last), nil
	case c.IfEmpty != "":
		return s.ifEmpty(ctx, c, f)
	}
	return outgoing{}, nil
}

// carrier is a message that the server accepts only if the last message of a subject, or
// of all that match it, has a sequence. It makes the whole batch depend on that.
func (s *records) carrier(project string, f store.Fence, guard string, last uint64) outgoing {
	subject := s.layout.lease(project, cmp.Or(f.Name, barrierToken)) + ".f"
	return outgoing{subject: subject, expect: true, last: last, guard: guard, replace: true, ttl: markTTL}
}

// goneTTL is how long the tombstone of a record stays: as long as its writers may
// still be retrying, so that nothing of it comes back. A queue leaves a tombstone
// for each prompt, and the servers have to look through all of them.
const goneTTL = patience

// changeMessages are the messages of a change: the last is the record, those before
// it hold the beginning of a large value.
func (s *records) changeMessages(c store.RecordChange, last uint64, f store.Fence) []outgoing {
	m := outgoing{subject: s.layout.record(c.Key.Project, c.Key.Kind, c.Key.Name), header: writtenUnder(f), expect: true, last: last, replace: true}
	if c.Drop {
		m.header[headerGone], m.ttl = "1", goneTTL
		return []outgoing{m}
	}
	first := s.overflow(c.Key, &m, c.Value)
	return append(first, m)
}

// unexpected finds out why changes were refused. It returns errStale if they may be
// tried again: because a record was dropped before, whose message is still there and is
// expected from now on, or because the server has a message that it does not show yet.
func (s *records) unexpected(ctx context.Context, changes []store.RecordChange, last []uint64) error {
	if c := changes[0]; len(changes) == 1 && !c.Drop && c.Revision != 0 {
		return store.ErrConflict
	}
	for i, c := range changes {
		m, err := s.last(ctx, s.layout.record(c.Key.Project, c.Key.Kind, c.Key.Name))
		if err != nil {
			return err
		}
		var is uint64
		if m != nil {
			is = m.seq
		}
		gone := m == nil || m.header.Get(headerGone) != ""
		switch {
		case gone && c.Drop:
			return store.ErrNotFound
		case gone && c.Revision == 0:
			last[i] = is
		case gone, is != uint64(c.Revision), len(changes) == 1:
			return store.ErrConflict
		}
	}
	return errStale
}

// overflow splits a value that is too large for one message: the beginning goes
// into messages of its own, the end into last.
func (s *records) overflow(k store.RecordKey, last *outgoing, value []byte) []outgoing {
	var first []outgoing
	for size := s.part(); len(value) > size; value = value[size:] {
		first = append(first, outgoing{subject: s.layout.part(k.Project, k.Kind, k.Name), data: bytes.Clone(value[:size]), replace: len(first) == 0})
	}
	if len(first) > 0 {
		last.header[headerMore] = strconv.Itoa(len(first))
	}
	last.data = bytes.Clone(value)
	return first
}
