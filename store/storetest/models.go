package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// models are random steps, taken in the store and in a model of it that is a few maps.
// After each step both must say the same.
func models() []contract {
	return []contract{
		{"transcripts", func(s *subject) { modelTranscripts(s, 1) }},
		{"records", func(s *subject) { modelRecords(s, 2) }},
		{"leases", func(s *subject) { modelLeases(s, 3) }},
	}
}

// modelSteps are how many steps a model takes: enough that each kind of step meets each
// other kind, in a store that syncs every write.
const modelSteps = 120

// walk is a random walk: it remembers its steps, to show them when one goes wrong.
type walk struct {
	*subject
	random *rand.Rand
	taken  []string
	// fences are that of the owner, one that was released, and none.
	owner, stale store.Fence
}

// walk begins one. It is the same for the same seed.
func (s *subject) walk(seed uint64) *walk {
	w := &walk{subject: s, random: rand.New(rand.NewPCG(seed, 9))}
	old := s.acquire(s, "old", time.Minute)
	if err := s.Release(s.t.Context(), old); err != nil {
		s.t.Fatal(err)
	}
	w.stale, w.owner = old.Fence, s.acquire(s, "owner", time.Hour).Fence
	return w
}

// fence chooses one.
func (w *walk) fence() (f store.Fence, stale bool) {
	switch w.random.IntN(5) {
	case 0:
		return w.stale, true
	case 1, 2:
		return w.owner, false
	}
	return store.Fence{}, false
}

// other returns the store, or the same one as another process sees it.
func (w *walk) other() store.Fleet {
	if w.random.IntN(3) == 0 {
		return w.again()
	}
	return w.Fleet
}

// agrees compares the error of a step with the one of the model, nil if there is none.
func (w *walk) agrees(step string, got, want error) {
	w.t.Helper()
	w.taken = append(w.taken, fmt.Sprintf("%s: %v", step, want))
	if (want == nil) != (got == nil) || !errors.Is(got, want) {
		w.fatal("%s: %v, want %v", step, got, want)
	}
}

// fatal ends the test with the last steps.
func (w *walk) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\nafter\n"+strings.Join(w.taken[max(0, len(w.taken)-15):], "\n"), args...)
}

// heldTranscript is a transcript in the model.
type heldTranscript struct {
	lines   []string
	uuids   map[string]bool
	batches map[string]bool
}

func modelTranscripts(s *subject, seed uint64) {
	w := s.walk(seed)
	ctx := s.t.Context()
	var keys []store.Key
	for range 3 {
		k := s.session()
		keys = append(keys, k, store.Key{Project: k.Project, Session: k.Session, Sub: "subagents/agent-1"}, store.Key{Project: k.Project, Session: k.Session, Sub: "subagents/agent-10"})
	}
	held := make(map[store.Key]*heldTranscript)
	gone := make(map[string]bool) // sessions
	deletions := 0
	for n := range modelSteps {
		k := keys[w.random.IntN(len(keys))]
		f, stale := w.fence()
		if w.random.IntN(12) == 0 && (k.Sub != "" || deletions < 1) {
			err := w.other().Delete(ctx, k, f)
			if stale {
				w.agrees("delete", err, store.ErrLeaseLost)
				continue
			}
			w.agrees("delete "+k.Sub, err, nil)
			delete(held, k)
			if k.Sub == "" {
				deletions++
				gone[k.Session] = true
				maps.DeleteFunc(held, func(of store.Key, _ *heldTranscript) bool { return of.Session == k.Session })
			}
		} else {
			b := store.Batch{Fence: f}
			if w.random.IntN(3) > 0 {
				b.ID = fmt.Sprint("batch-", w.random.IntN(30))
			}
			for i := range 1 + w.random.IntN(3) {
				switch w.random.IntN(4) {
				case 0: // without an id: never left out
					b.Entries = append(b.Entries, store.Entry(fmt.Sprintf(`{"type":"mode","n":%d,"i":%d}`, n, i)))
				case 1: // one that may be there
					b.Entries = append(b.Entries, store.Entry(line(fmt.Sprint("u", w.random.IntN(40)))))
				default:
					b.Entries = append(b.Entries, store.Entry(said(fmt.Sprintf("%d-%d", n, i), fmt.Sprint("prompt ", n))))
				}
			}
			err := w.other().Append(ctx, k, b)
			switch {
			case gone[k.Session] && stale:
				if !errors.Is(err, store.ErrDeleted) && !errors.Is(err, store.ErrLeaseLost) {
					w.fatal("an append of a lost owner to a deleted session: %v", err)
				}
				continue
			case gone[k.Session]:
				w.agrees("append to a deleted session", err, store.ErrDeleted)
				continue
			case stale:
				w.agrees("append of a lost owner", err, store.ErrLeaseLost)
				continue
			}
			w.agrees(fmt.Sprintf("append %q to %s", b.ID, k.Sub), err, nil)
			held[k] = take(held[k], b)
		}
		w.compareTranscripts(keys, held, n)
	}
}

// take applies a batch to a transcript.
func take(h *heldTranscript, b store.Batch) *heldTranscript {
	if h == nil {
		h = &heldTranscript{uuids: make(map[string]bool), batches: make(map[string]bool)}
	}
	if b.ID != "" && h.batches[b.ID] {
		return h
	}
	h.batches[b.ID] = true
	for _, e := range b.Entries {
		_, id, has := strings.Cut(string(e), `"uuid":"`)
		id, _, _ = strings.Cut(id, `"`)
		if has && h.uuids[id] {
			continue
		}
		if has {
			h.uuids[id] = true
		}
		h.lines = append(h.lines, string(e))
	}
	return h
}

// compareTranscripts compares all that the store has with the model: each transcript
// whole and from a place on, the lists and the summaries.
func (w *walk) compareTranscripts(keys []store.Key, held map[store.Key]*heldTranscript, n int) {
	w.t.Helper()
	from := w.other()
	k := keys[n%len(keys)]
	if h := held[k]; h == nil {
		w.wantsNone(from, k)
	} else {
		w.wants(from, k, h.lines...)
		placed := collect(w.t, from.Load(w.t.Context(), k, 0))
		cut := w.random.IntN(len(placed) + 1)
		place := store.Place(0)
		if cut > 0 {
			place = placed[cut-1].Place
		}
		rest := collect(w.t, from.Load(w.t.Context(), k, place))
		var got []string
		for _, e := range rest {
			got = append(got, string(e.Entry))
		}
		if len(placed) != len(h.lines) || !slices.Equal(got, h.lines[cut:]) {
			w.fatal("%d entries, after the first %d there are %q, want %q", len(placed), cut, got, h.lines[cut:])
		}
	}
	sessions := make(map[string][]byte)
	subs := make(map[string][]string)
	for k, h := range held {
		if k.Sub != "" {
			subs[k.Session] = append(subs[k.Session], k.Sub)
			continue
		}
		var entries []store.Entry
		for _, l := range h.lines {
			entries = append(entries, store.Entry(l))
		}
		sessions[k.Session] = storeimpl.Fold(nil, entries...)
	}
	listed := w.ids(from, w.project)
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(sessions)); !slices.Equal(listed, want) {
		w.fatal("List = %q, want %q", listed, want)
	}
	below := slices.Sorted(slices.Values(subs[k.Session]))
	if got := collect(w.t, from.Subagents(w.t.Context(), k.Project, k.Session)); !slices.Equal(got, below) {
		w.fatal("Subagents = %q, want %q", got, below)
	}
	if n%4 == 0 {
		for _, sum := range collect(w.t, from.List(w.t.Context(), w.project)) {
			if want := sessions[sum.Session]; !w.target.NoSummaries && string(sum.Data) != string(want) {
				w.fatal("the summary of %s is %s, want %s", sum.Session, sum.Data, want)
			}
			delete(sessions, sum.Session)
		}
		if len(sessions) > 0 {
			w.fatal("no summaries of %v", slices.Collect(maps.Keys(sessions)))
		}
	}
}

func modelRecords(s *subject, seed uint64) {
	w := s.walk(seed)
	ctx := s.t.Context()
	var keys []store.RecordKey
	for _, kind := range []string{"queue", "queue2"} {
		for _, name := range []string{"a", "a/1", "a/1/x", "a/2", "a-b", "b/1"} {
			keys = append(keys, store.RecordKey{Project: s.project, Kind: kind, Name: name})
		}
	}
	held := make(map[store.RecordKey]store.Record)
	used := make(map[store.RecordKey]map[int64]bool) // revisions
	took := func(k store.RecordKey, value []byte, revision int64) {
		if used[k] == nil {
			used[k] = make(map[int64]bool)
		}
		if revision == 0 || used[k][revision] {
			w.fatal("%v has the revision %d again", k, revision)
		}
		used[k][revision] = true
		held[k] = store.Record{Key: k, Value: value, Revision: revision}
	}
	// based returns a revision to base a change on, the right one in most cases.
	based := func(k store.RecordKey) int64 {
		switch w.random.IntN(6) {
		case 0:
			return 0
		case 1:
			return held[k].Revision + 1
		}
		return held[k].Revision
	}
	for n := range modelSteps {
		r := w.other()
		f, stale := w.fence()
		k := keys[w.random.IntN(len(keys))]
		now, there := held[k]
		revision, value := based(k), fmt.Appendf(nil, "value %d", n)
		switch step := w.random.IntN(8); {
		case step < 4:
			next, err := store.Put(ctx, r, k, value, revision, f)
			switch {
			case stale:
				w.agrees("put of a lost owner", err, store.ErrLeaseLost)
			case revision != now.Revision:
				w.agrees("put on another revision", err, store.ErrConflict)
			default:
				w.agrees("put "+k.Name, err, nil)
				took(k, value, next)
			}
		case step < 6:
			err := store.Drop(ctx, r, k, max(revision, 1), f)
			switch {
			case stale:
				w.agrees("drop of a lost owner", err, store.ErrLeaseLost)
			case !there:
				w.agrees("drop of nothing", err, store.ErrNotFound)
			case revision != now.Revision:
				w.agrees("drop on another revision", err, store.ErrConflict)
			default:
				w.agrees("drop "+k.Name, err, nil)
				delete(held, k)
			}
		default:
			w.changeSeveral(ctx, r, keys, held, based, took, n)
		}
		w.compareRecords(keys, held, n)
	}
}

// changeSeveral makes several changes at once.
func (w *walk) changeSeveral(ctx context.Context, r store.Records, keys []store.RecordKey, held map[store.RecordKey]store.Record, based func(store.RecordKey) int64, took func(store.RecordKey, []byte, int64), n int) {
	w.t.Helper()
	f, stale := w.fence()
	var changes []store.RecordChange
	var want error
	for i, at := range w.random.Perm(len(keys))[:1+w.random.IntN(3)] {
		k := keys[at]
		now, there := held[k]
		c := store.RecordChange{Key: k, Revision: based(k), Value: fmt.Appendf(nil, "value %d-%d", n, i)}
		if there && w.random.IntN(3) == 0 {
			c.Drop, c.Value, c.Revision = true, nil, max(c.Revision, 1)
		}
		if c.Revision == 0 && w.random.IntN(3) == 0 {
			c.IfEmpty = "a"
			full := slices.ContainsFunc(slices.Collect(maps.Keys(held)), func(o store.RecordKey) bool {
				rest, in := strings.CutPrefix(o.Name, "a/")
				return in && o.Kind == k.Kind && !strings.Contains(rest, "/")
			})
			if full {
				want = store.ErrConflict
			}
		}
		if c.Revision != now.Revision {
			want = store.ErrConflict
		}
		changes = append(changes, c)
	}
	next, err := r.Change(ctx, f, changes...)
	if stale && (want == nil || !errors.Is(err, want)) { // either reason will do
		want = store.ErrLeaseLost
	}
	w.agrees(fmt.Sprintf("change of %d", len(changes)), err, want)
	if want != nil {
		return
	}
	if len(next) != len(changes) {
		w.fatal("%d revisions of %d changes", len(next), len(changes))
	}
	for i, c := range changes {
		if c.Drop {
			delete(held, c.Key)
		} else {
			took(c.Key, c.Value, next[i])
		}
	}
}

// compareRecords compares all that the store has with the model: one by one, by scans,
// by folders and in one view.
func (w *walk) compareRecords(keys []store.RecordKey, held map[store.RecordKey]store.Record, n int) {
	w.t.Helper()
	ctx, r := w.t.Context(), w.other()
	text := func(all []store.Record) (out []string) {
		for _, rec := range all {
			out = append(out, fmt.Sprintf("%v %s %d", rec.Key, rec.Value, rec.Revision))
		}
		return out
	}
	same := func(what string, got []store.Record, in func(store.RecordKey) bool) {
		w.t.Helper()
		var want []store.Record
		for _, rec := range held {
			if in(rec.Key) {
				want = append(want, rec)
			}
		}
		want = storeimpl.SortView(want)
		if a, b := text(got), text(want); !slices.Equal(a, b) {
			w.fatal("%s:\n%s\nwant\n%s", what, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
	k := keys[n%len(keys)]
	switch got, err := store.Get(ctx, r, k); {
	case errors.Is(err, store.ErrNotFound):
		same("nothing", nil, func(o store.RecordKey) bool { return o == k })
	case err != nil:
		w.fatal("GetRecord %v: %v", k, err)
	default:
		same("GetRecord", []store.Record{got}, func(o store.RecordKey) bool { return o == k })
	}
	same("Scan", collect(w.t, r.Scan(ctx, store.Folder{Project: w.project, Kind: k.Kind}, "")), func(o store.RecordKey) bool { return o.Kind == k.Kind })
	same("Scan after "+k.Name, collect(w.t, r.Scan(ctx, store.Folder{Project: w.project, Kind: k.Kind}, k.Name)), func(o store.RecordKey) bool { return o.Kind == k.Kind && o.Name > k.Name })
	below := func(o store.RecordKey) bool { return o.Kind == k.Kind && strings.HasPrefix(o.Name, "a/") }
	same("Scan a", collect(w.t, r.Scan(ctx, store.Folder{Project: w.project, Kind: k.Kind, Name: "a"}, "")), below)
	if n%3 == 0 {
		got, err := r.View(ctx, store.View{Keys: []store.RecordKey{k}, Folders: []store.Folder{{Project: w.project, Kind: k.Kind, Name: "a"}}})
		if err != nil {
			w.fatal("View: %v", err)
		}
		same("View", got, func(o store.RecordKey) bool { return o == k || below(o) })
	}
}

func modelLeases(s *subject, seed uint64) {
	w := s.walk(seed)
	ctx := s.t.Context()
	names := []string{"a", "a/b", "c"}
	given := make(map[string][]store.Lease) // all that there ever were
	live := make(map[string]bool)           // whether the last one is held
	for n := range modelSteps / 2 {
		l := w.other()
		name := names[w.random.IntN(len(names))]
		last := len(given[name]) - 1
		switch w.random.IntN(4) {
		case 0, 1:
			owner := fmt.Sprint("owner ", n)
			lease, err := l.Acquire(ctx, s.project, name, owner, time.Hour)
			if live[name] {
				w.agrees("acquire what is held", err, store.ErrLeased)
				if held, ok := errors.AsType[*store.HeldError](err); !ok || held.Owner != given[name][last].Owner || held.Name != name || held.For <= 0 || held.For > time.Hour {
					w.fatal("%s is held: %+v", name, held)
				}
				continue
			}
			w.agrees("acquire "+name, err, nil)
			if last >= 0 && lease.Token <= given[name][last].Token || lease.Project != s.project || lease.Name != name || lease.Owner != owner || lease.TTL != time.Hour {
				w.fatal("the lease %+v after %+v", lease, given[name])
			}
			given[name], live[name] = append(given[name], lease), true
			continue
		case 2:
			if last < 0 {
				continue
			}
			i := w.random.IntN(last + 1)
			w.agrees("release "+name, l.Release(ctx, given[name][i]), nil)
			live[name] = live[name] && i != last
		}
		// Each token but that of the owner is void, for leases and for writes.
		for i, lease := range given[name] {
			var want error
			if i != last || !live[name] {
				want = store.ErrLeaseLost
			}
			w.agrees("renew "+name, l.Renew(ctx, lease), want)
			if r := w.other(); i+2 > last {
				_, err := store.Put(ctx, r, store.RecordKey{Project: s.project, Kind: "k", Name: fmt.Sprint("n", n, "-", i)}, nil, 0, lease.Fence)
				w.agrees("put under "+name, err, want)
			}
		}
	}
}
