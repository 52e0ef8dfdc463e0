package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// A view that must only cover what is known is one request to any replica, which must have
// the highest sequence that this process has seen. The stream is one sequence of messages,
// so the replica then has everything before it as well. Any other view stores a mark
// first, as a scan does: the replica that has the mark has all that was stored before. A
// single record costs less, because only the leader is asked for it.

// viewAll reads a snapshot of records and folders.
func (s *records) viewAll(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := cmp.Or(v.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	if !v.Known && len(v.Keys) == 1 && len(v.Folders) == 0 {
		r, err := s.get(ctx, v.Keys[0])
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []store.Record{r}, nil
	}
	asked := s.asked(v)
	known, marked := s.horizon.seq.Load(), false
	var all []store.Record
	err := s.withRetry(ctx, loadBound, func(ctx context.Context) (err error) {
		if !v.Known && !marked {
			if known, err = s.markNow(ctx); err != nil {
				return err
			}
			marked = true
		}
		all, err = s.viewOnce(ctx, &asked, known)
		v.Known = v.Known && !errors.Is(err, errStale) // the mark shows whether there is a server that has what is known
		return err
	})
	if err != nil {
		return nil, fail("view", err)
	}
	return storeimpl.SortView(all), nil
}

// markNow stores a mark. If it has a lower sequence than the known one, the stream was
// recreated.
func (s *records) markNow(ctx context.Context) (uint64, error) {
	mark, err := s.mark(ctx)
	if err == nil && s.horizon.lower(mark) {
		s.floors.forget()
	}
	return mark, err
}

// viewOnce tries once to read a snapshot that has a sequence.
func (s *records) viewOnce(ctx context.Context, v *view, known uint64) ([]store.Record, error) {
	found, err := s.view(ctx, v, known)
	if err != nil {
		return nil, err
	}
	all, room := make([]store.Record, 0, len(found)), store.MaxViewedBytes
	for _, m := range found {
		r, err := s.record(ctx, v.key(m.subject), m)
		switch room -= len(r.Value); {
		case errors.Is(err, store.ErrNotFound), err == nil && r.Revision != int64(m.seq):
			return nil, errStale // it was changed or dropped while a large value was read
		case err != nil:
			return nil, fail(r.Key, err)
		case room < 0 || len(all) == store.MaxViewed:
			return nil, store.ErrTooLarge
		}
		all = append(all, r)
	}
	return all, nil
}

// view is a request for records and folders.
type view struct {
	subjects []string                   // the named records first, then the folders, then the mark
	named    int                        // how many of them are records
	floor    string                     // under which name its floor is remembered
	prefixes map[string]store.RecordKey // of the subjects of each kind, with its project and kind
}

// asked makes a request of a view. It also asks for the mark: a replica that has none of
// the messages does not tell how far it is.
func (s *records) asked(v store.View) view {
	out := view{named: len(v.Keys), prefixes: make(map[string]store.RecordKey)}
	add := func(project, kind, subject string) {
		out.subjects = append(out.subjects, subject)
		out.prefixes[s.layout.kind(project, kind)+"."] = store.RecordKey{Project: project, Kind: kind}
		out.floor = "view of " + subject
	}
	for _, k := range v.Keys {
		add(k.Project, k.Kind, s.layout.record(k.Project, k.Kind, k.Name))
	}
	for _, f := range v.Folders {
		add(f.Project, f.Kind, s.layout.folder(f)+".>")
	}
	out.subjects = append(out.subjects, s.markSubject())
	return out
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

// viewAgain is how often a replica that lags behind is asked again at once. It learns
// about a write a moment after the writer does.
const viewAgain = 3

// view asks for the last messages of subjects, and returns those of records that
// were not dropped. The error is errStale if an answer cannot be used.
func (s *records) view(ctx context.Context, v *view, known uint64) ([]stored, error) {
	from, seen := s.floors.of(v.floor)
	a, err := s.lastsFrom(ctx, v.subjects, from, known)
	if err == nil && from > 1 {
		a.page, err = s.belowFloor(ctx, v, a, from)
	}
	if errors.Is(err, errMany) {
		return nil, fmt.Errorf("%w: %w", store.ErrTooLarge, err)
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
			return nil, cmp.Or(s.removeForeign(ctx, &m), errStale)
		case m.header.Get(headerGone) == "":
			found, lowest = append(found, m), min(lowest, m.seq)
		}
	}
	if from > 1 || all-len(found) > fewDropped {
		s.floors.set(v.floor, lowest, seen)
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
	below, err := s.lastsFrom(ctx, append(slices.Clone(named), s.markSubject()), 1, a.upTo)
	if err != nil {
		return nil, err
	}
	page := a.page
	for _, m := range below.page {
		switch {
		case isBarrier(m.subject):
		case m.seq > a.upTo:
			return nil, errStale // it was changed while it was read
		case m.seq < from:
			page = append(page, m)
		}
	}
	return page, nil
}

// lastsFrom asks any replica that has a known sequence for the last messages of subjects,
// without those below a floor. What does not fit into one answer is read by further ones,
// which belong to the same snapshot if nothing was stored in between.
func (s *stream) lastsFrom(ctx context.Context, subjects []string, from, known uint64) (answer, error) {
	a, err := s.lastsPage(ctx, subjects, from, known)
	for err == nil && a.more {
		read := 0
		for _, m := range a.page {
			read += len(m.data)
		}
		if read > store.MaxViewedBytes {
			return a, store.ErrTooLarge
		}
		var next answer
		if next, err = s.lastsPage(ctx, subjects, a.page[len(a.page)-1].seq+1, a.upTo); err != nil {
			break
		}
		if slices.ContainsFunc(next.page, func(m stored) bool { return m.seq > a.upTo && !isBarrier(m.subject) }) {
			return a, errStale
		}
		a.page, a.more = append(a.page, next.page...), next.more
	}
	return a, err
}

// lastsPage is lastsFrom with a single answer.
func (s *stream) lastsPage(ctx context.Context, subjects []string, from, known uint64) (answer, error) {
	bounded, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	ask := map[string]any{"seq": from, "multi_last": subjects, "max_bytes": pageBytes}
	a, err := s.direct(bounded, ask)
	for again := 0; again < viewAgain && err == nil && 0 < a.upTo && a.upTo < known; again++ {
		a, err = s.direct(bounded, ask)
	}
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err == nil && a.upTo < known:
		return a, errStale
	}
	return a, err
}
