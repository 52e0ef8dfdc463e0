package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// A view is one request to any replica, while a scan stores a barrier first, to be sure
// of everything that any process has stored. A view promises less, and its caller knows
// that: the replica must have the highest sequence that this process has seen. The
// stream is one sequence of messages, so the replica then has everything before it as
// well. Later messages are announced.

// viewAll reads a snapshot of records and folders.
func (s *records) viewAll(ctx context.Context, keys, folders []store.RecordKey) ([]store.Record, error) {
	if err := cmp.Or(store.CheckView(keys, folders), ctx.Err()); err != nil {
		return nil, err
	}
	v := view{prefixes: make(map[string]store.RecordKey)}
	for _, k := range keys {
		v.add(s.layout, k, "")
	}
	v.named = len(keys)
	for _, k := range folders {
		v.add(s.layout, k, ".>")
	}
	found, err := s.view(ctx, &v)
	if err != nil {
		return nil, fail("view", err)
	}
	all := make([]store.Record, 0, len(found))
	for _, m := range found {
		r, err := s.record(ctx, v.key(m.subject), m)
		if errors.Is(err, store.ErrNotFound) || err == nil && r.Revision != int64(m.seq) {
			err = errors.ErrUnsupported // it was changed or dropped while a large value was read
		}
		if err != nil {
			return nil, fail(r.Key, err)
		}
		all = append(all, r)
	}
	return store.SortView(all), nil
}

// view is a request for records and folders.
type view struct {
	subjects []string                   // the named records first, then the folders
	named    int                        // how many of them are records
	prefixes map[string]store.RecordKey // of the subjects of each kind, with its project and kind
}

// add asks for a record, or with a wildcard for a folder.
func (v *view) add(l layout, k store.RecordKey, wildcard string) {
	v.subjects = append(v.subjects, l.record(k.Project, k.Kind, k.Name)+wildcard)
	v.prefixes[l.kind(k.Project, k.Kind)+"."] = store.RecordKey{Project: k.Project, Kind: k.Kind}
}

// key is the key of the record with a subject.
func (v *view) key(subject string) store.RecordKey {
	for prefix, k := range v.prefixes {
		if name, ok := strings.CutPrefix(subject, prefix); ok {
			k.Name = untokens(name)
			return k
		}
	}
	return store.RecordKey{}
}

// viewAgain is how often a replica that lags behind is asked again. It learns about
// a write a moment after the writer does, and a scan costs much more.
const viewAgain = 3

// view asks for the last messages of subjects, and returns those of records that
// were not dropped. An answer that cannot be used is [errors.ErrUnsupported].
func (s *records) view(ctx context.Context, v *view) ([]stored, error) {
	folder := "view of " + v.subjects[len(v.subjects)-1]
	from, seen := s.floors.of(folder)
	a, err := s.lastsFrom(ctx, v.subjects, from, s.horizon.seq.Load())
	if err == nil && from > 1 {
		a.page, err = s.belowFloor(ctx, v, a, from)
	}
	if err != nil {
		return nil, err
	}
	all := len(a.page)
	found, lowest := a.page[:0], a.upTo
	for _, m := range a.page {
		switch {
		case isBarrier(m.subject):
		case !m.ours():
			return nil, fmt.Errorf("%w: a message does not belong to this fleet", errors.ErrUnsupported)
		case m.header.Get(headerGone) == "":
			found, lowest = append(found, m), min(lowest, m.seq)
		}
	}
	if from > 1 || all-len(found) > fewDropped {
		s.floors.set(folder, lowest, seen)
	}
	return found, nil
}

// belowFloor returns an answer together with the named records that are below the
// floor. The floor was found when others were named, and holds for the folder only. So
// a record that is not in the answer is looked for from the beginning. Both answers
// form one snapshot if nothing that was named has changed in between.
func (s *records) belowFloor(ctx context.Context, v *view, a answer, from uint64) ([]stored, error) {
	shown := make(map[string]bool)
	for _, m := range a.page {
		shown[m.subject] = true
	}
	named := v.subjects[:v.named]
	if !slices.ContainsFunc(named, func(subject string) bool { return !shown[subject] }) {
		return a.page, nil
	}
	below, err := s.lastsFrom(ctx, named, 1, a.upTo)
	if err != nil {
		return nil, err
	}
	page := a.page
	for _, m := range below.page {
		switch {
		case m.seq > a.upTo:
			return nil, fmt.Errorf("%w: a record was changed while it was read", errors.ErrUnsupported)
		case m.seq < from:
			page = append(page, m)
		}
	}
	return page, nil
}

// lastsFrom asks any replica that has a known sequence for the last messages of subjects,
// without those below a floor.
func (s *stream) lastsFrom(ctx context.Context, subjects []string, from, known uint64) (answer, error) {
	bounded, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	ask := map[string]any{"seq": from, "multi_last": subjects, "max_bytes": pageBytes}
	a, err := s.direct(bounded, ask)
	for again := 0; again < viewAgain && err == nil && a.upTo < known; again++ {
		a, err = s.direct(bounded, ask)
	}
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err != nil && (passes(err) || errors.Is(err, errMany)):
		return a, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	case err == nil && (a.more || a.upTo < known):
		return a, fmt.Errorf("%w: %w", errors.ErrUnsupported, errStale)
	}
	return a, err
}
