package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

func watches() []contract {
	return []contract{
		{"the zero value comes first, and nothing after it is missed", watchZeroFirst},
		{"it names what was changed", watchNames},
		{"changes of this store name their fence", watchOwn},
		{"changes of other processes come", watchOthers},
		{"transcripts that grow and go", watchTranscripts},
		{"leases that are given back", watchReleases},
		{"changes that are made at once come all", watchAtOnce},
		{"what is refused, kept or of another project does not come", watchNothingElse},
		{"what has come is in the next view", watchThenView},
		{"changes of one record come in order", watchInOrder},
		{"changes of many writers come", watchManyWriters},
		{"a slow reader holds nothing up, and learns that it missed something", watchSlowly},
		{"leaving a loop frees everything", watchLeft},
		{"it ends with its context", watchEnds},
		{"a bad project is refused", watchRefused},
	}
}

// watchBound is how long something may take to come: a store that polls takes a while, and
// a busy machine is slow.
const watchBound = 30 * time.Second

// watcher watches the project of a test.
type watcher struct {
	s      *subject
	cancel context.CancelFunc

	mu     sync.Mutex
	seen   []store.Changed
	more   chan struct{} // closed at the next one
	ended  bool
	failed error
}

// watch begins to watch, and returns when nothing is missed any more.
func (s *subject) watch(r store.Records) *watcher {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	w := &watcher{s: s, cancel: cancel, more: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range r.Watch(ctx, s.project) {
			w.add(c, err)
		}
		w.add(store.Changed{}, errWatchEnded)
	}()
	s.t.Cleanup(func() {
		cancel()
		<-done
		if w.failed != nil {
			s.t.Errorf("Watch: %v", w.failed)
		}
	})
	w.wait(0, "the beginning", store.Changed.IsZero)
	if first := w.all()[0]; !first.IsZero() {
		s.t.Fatalf("the first to come is %+v", first)
	}
	return w
}

var errWatchEnded = errors.New("the loop has ended")

func (w *watcher) add(c store.Changed, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, errWatchEnded):
		w.ended = true
	case err != nil:
		w.failed = err
	default:
		w.seen = append(w.seen, c)
	}
	close(w.more)
	w.more = make(chan struct{})
}

// all returns what has come.
func (w *watcher) all() []store.Changed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// mark is how much has come. What is changed from now on comes behind it.
func (w *watcher) mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// wait waits for a change behind a mark. It reports false if instead the watcher was told
// to look at everything, which must be possible at any time.
func (w *watcher) wait(mark int, what string, is func(store.Changed) bool) (c store.Changed, named bool) {
	w.s.t.Helper()
	timer := time.NewTimer(watchBound)
	defer timer.Stop()
	for {
		w.mu.Lock()
		seen, more, ended, failed := w.seen[mark:], w.more, w.ended, w.failed // it only grows
		w.mu.Unlock()
		for _, c := range seen {
			if is(c) {
				return c, true
			}
		}
		if slices.ContainsFunc(seen, store.Changed.IsZero) {
			return store.Changed{}, false
		}
		if ended {
			w.s.t.Fatalf("%s has not come when the loop ended: %v", what, failed)
		}
		select {
		case <-more:
		case <-timer.C:
			w.s.t.Fatalf("%s does not come; there are %+v", what, seen)
		}
	}
}

// record waits for a revision of a record, and for its author if that is known.
func (w *watcher) record(mark int, k store.RecordKey, revision int64, by ...store.Fence) (named bool) {
	w.s.t.Helper()
	what := fmt.Sprintf("revision %d of %v by %v", revision, k, by)
	_, named = w.wait(mark, what, func(c store.Changed) bool {
		return c == store.Changed{Record: k, Revision: revision, By: c.By} && slices.Contains(by, c.By)
	})
	return named
}

func watchZeroFirst(s *subject) {
	author := s.again()
	ctx, cancel := context.WithTimeout(s.t.Context(), watchBound)
	defer cancel()
	for i := range 5 {
		k, revision, first := s.recordKey(fmt.Sprint(i)), int64(0), true
		for c, err := range s.Fleet.Watch(ctx, s.project) {
			switch {
			case err != nil:
				s.t.Fatal(err)
			case first && !c.IsZero():
				s.t.Fatalf("the first to come is %+v", c)
			case first: // a change at the very moment must come, made in the loop itself
				first = false
				revision = s.put(author, k, "", 0)
				continue
			}
			if c.IsZero() || c.Record == k && c.Revision == revision {
				break
			}
			if c.Record != k && c.Record.Name >= k.Name {
				s.t.Fatalf("%+v has come", c)
			}
		}
		if ctx.Err() != nil || revision == 0 {
			s.t.Fatalf("round %d: revision %d does not come", i, revision)
		}
	}
}

func watchNames(s *subject) {
	w := s.watch(s.Fleet)
	const times = 20
	for i := range times {
		k := s.recordKey("folder/" + strconv.Itoa(i))
		mark := w.mark()
		revision := s.put(s.Fleet, k, "1", 0)
		named := w.record(mark, k, revision, store.Fence{})
		mark = w.mark()
		revision = s.put(s.Fleet, k, "2", revision)
		named = w.record(mark, k, revision, store.Fence{}) && named
		mark = w.mark()
		if err := store.Drop(s.t.Context(), s, k, revision, store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
		if w.record(mark, k, 0, store.Fence{}) && named {
			return
		}
	}
	s.t.Errorf("%d times the watcher was only told to look", times)
}

func watchOwn(s *subject) {
	w := s.watch(s.Fleet)
	lease := s.acquire(s, "me", time.Minute)
	k := s.recordKey("a")
	mark := w.mark()
	revision, err := store.Put(s.t.Context(), s, k, nil, 0, lease.Fence)
	if err != nil {
		s.t.Fatal(err)
	}
	w.record(mark, k, revision, lease.Fence)
	mark = w.mark()
	next, err := s.change(s.Fleet, lease.Fence, store.RecordChange{Key: k, Revision: revision}, store.RecordChange{Key: s.recordKey("b")})
	if err != nil {
		s.t.Fatal(err)
	}
	w.record(mark, k, next[0], lease.Fence)
	w.record(mark, s.recordKey("b"), next[1], lease.Fence)
	mark = w.mark()
	if err := store.Drop(s.t.Context(), s, k, next[0], lease.Fence); err != nil {
		s.t.Fatal(err)
	}
	w.record(mark, k, 0, lease.Fence)
}

func watchOthers(s *subject) {
	w, other := s.watch(s.Fleet), s.again()
	lease := s.acquire(other, "the other", time.Minute)
	k := s.recordKey("a/b")
	mark := w.mark()
	revision, err := store.Put(s.t.Context(), other, k, nil, 0, lease.Fence)
	if err != nil {
		s.t.Fatal(err)
	}
	w.record(mark, k, revision, lease.Fence, store.Fence{})
	mark = w.mark()
	revision = s.put(other, k, "2", revision)
	w.record(mark, k, revision, store.Fence{})
	mark = w.mark()
	if err := store.Drop(s.t.Context(), other, k, revision, lease.Fence); err != nil {
		s.t.Fatal(err)
	}
	w.record(mark, k, 0, lease.Fence, store.Fence{})
}

func watchTranscripts(s *subject) {
	w, other := s.watch(s.Fleet), s.again()
	lease := s.acquire(s, "me", time.Minute)
	k := s.session()
	sub := k
	sub.Sub = "subagents/agent-1"
	transcript := func(mark int, k store.Key, by ...store.Fence) {
		s.t.Helper()
		w.wait(mark, fmt.Sprintf("%v by %v", k, by), func(c store.Changed) bool {
			return c == store.Changed{Transcript: k, By: c.By} && slices.Contains(by, c.By)
		})
	}
	n := 0
	add := func(to store.Fleet, k store.Key, by store.Fence) int {
		s.t.Helper()
		n++
		mark, b := w.mark(), batch("", line(fmt.Sprint("line ", n)))
		b.Fence = by
		if err := to.Append(s.t.Context(), k, b); err != nil {
			s.t.Fatal(err)
		}
		return mark
	}
	transcript(add(s.Fleet, k, lease.Fence), k, lease.Fence)
	transcript(add(s.Fleet, k, store.Fence{}), k, store.Fence{})
	transcript(add(s.Fleet, sub, lease.Fence), sub, lease.Fence)
	transcript(add(other, k, lease.Fence), k, lease.Fence, store.Fence{})
	transcript(add(other, sub, store.Fence{}), sub, store.Fence{})
	for _, gone := range []store.Key{sub, k} {
		mark := w.mark()
		if err := s.Delete(s.t.Context(), gone, lease.Fence); err != nil {
			s.t.Fatal(err)
		}
		transcript(mark, gone, lease.Fence)
	}
	add(s.Fleet, s.session(), store.Fence{})
	another := s.session()
	add(other, another, store.Fence{})
	mark := w.mark()
	if err := other.Delete(s.t.Context(), another, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	transcript(mark, another, store.Fence{})
}

func watchReleases(s *subject) {
	w := s.watch(s.Fleet)
	for i, from := range []store.Fleet{s.Fleet, s.again(), s.Fleet} {
		lease, err := from.Acquire(s.t.Context(), s.project, "fleet/conversation", "owner", time.Minute)
		if err != nil {
			s.t.Fatal(err)
		}
		mark := w.mark()
		if err := from.Release(s.t.Context(), lease); err != nil {
			s.t.Fatal(err)
		}
		c, named := w.wait(mark, "the release", func(c store.Changed) bool { return c.Released == lease.Name })
		if want := (store.Changed{Released: lease.Name, By: lease.Fence}); named && c != want && (i != 1 || !c.By.IsZero()) {
			s.t.Errorf("%+v has come, want %+v", c, want)
		}
	}
}

func watchAtOnce(s *subject) {
	w, other := s.watch(s.Fleet), s.again()
	for i, from := range []store.Records{s.Fleet, other} {
		gone := s.recordKey(fmt.Sprint(i, "/gone"))
		there := s.put(from, gone, "", 0)
		var all []store.RecordChange
		for n := range store.MaxChanges - 1 {
			all = append(all, store.RecordChange{Key: s.recordKey(fmt.Sprintf("%d/%d", i, n))})
		}
		all = append(all, store.RecordChange{Key: gone, Drop: true, Revision: there})
		mark := w.mark()
		next, err := s.change(from, store.Fence{}, all...)
		if err != nil {
			s.t.Fatal(err)
		}
		for n, c := range all {
			w.record(mark, c.Key, next[n], store.Fence{})
		}
	}
}

func watchNothingElse(s *subject) {
	w := s.watch(s.Fleet)
	mark := w.mark()
	there := s.put(s.Fleet, s.recordKey("there"), "", 0)
	w.record(mark, s.recordKey("there"), there, store.Fence{})
	mark = w.mark()
	elsewhere := s.recordKey("elsewhere")
	elsewhere.Project += "-b"
	s.put(s.Fleet, elsewhere, "", 0)
	away := s.session()
	away.Project += "-b"
	s.append(away, line("a"))
	_, err := s.change(s.Fleet, store.Fence{}, store.RecordChange{Key: s.recordKey("refused")}, store.RecordChange{Key: s.recordKey("none"), Revision: 7})
	s.wantsError("a change of what is not there", err, store.ErrConflict)
	next, err := s.change(s.Fleet, store.Fence{}, store.RecordChange{Key: s.recordKey("there"), Keep: true, Revision: there}, store.RecordChange{Key: s.recordKey("last")})
	if err != nil {
		s.t.Fatal(err)
	}
	w.record(mark, s.recordKey("last"), next[1], store.Fence{})
	for _, c := range w.all()[mark:] {
		if !c.IsZero() && (c.Record != s.recordKey("last") || c.Revision != next[1]) {
			s.t.Errorf("%+v has come", c)
		}
	}
}

// watchThenView: what was announced is known.
func watchThenView(s *subject) {
	other, v := s.again(), s.Fleet
	k := s.recordKey("a")
	const times = 15
	ctx, cancel := context.WithTimeout(s.t.Context(), watchBound)
	defer cancel()
	var made []int64
	for c, err := range s.Fleet.Watch(ctx, s.project) {
		if err != nil {
			s.t.Fatal(err)
		}
		all, err := v.View(s.t.Context(), store.View{Known: true, Keys: []store.RecordKey{k}})
		if err != nil {
			s.t.Fatal(err)
		}
		if c.Record == k && (len(all) != 1 || slices.Index(made, all[0].Revision) < slices.Index(made, c.Revision)) {
			s.t.Fatalf("%+v has come, and a view has %+v", c, all)
		}
		if len(made) > 0 && !c.IsZero() && (c.Record != k || c.Revision != made[len(made)-1]) {
			continue // a zero has announced it before
		}
		if len(made) == times {
			return
		}
		last := int64(0)
		if len(made) > 0 {
			last = made[len(made)-1]
		}
		made = append(made, s.put(other, k, fmt.Sprint(len(made)), last))
	}
	s.t.Fatalf("%d changes came of %d", len(made), times)
}

func watchInOrder(s *subject) {
	const writers, times = 3, 20
	k := s.recordKey("a")
	begin := s.put(s.Fleet, k, "0", 0)
	w := s.watch(s.again())
	mark := w.mark()
	var mu sync.Mutex
	follows := make(map[int64]int64) // the revision after another
	var wg sync.WaitGroup
	for range writers {
		r := s.again()
		wg.Go(func() {
			for n := 0; n < times; {
				rec, err := store.Get(s.t.Context(), r, k)
				if err == nil {
					var next int64
					if next, err = store.Put(s.t.Context(), r, k, rec.Value, rec.Revision, store.Fence{}); err == nil {
						mu.Lock()
						follows[rec.Revision] = next
						mu.Unlock()
						n++
						continue
					}
				}
				if !errors.Is(err, store.ErrConflict) {
					s.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if s.t.Failed() {
		return
	}
	place := map[int64]int{begin: 0}
	last := begin
	for follows[last] != 0 {
		place[follows[last]] = place[last] + 1
		last = follows[last]
	}
	w.record(mark, k, last, store.Fence{})
	before := -1
	for _, c := range w.all() {
		if c.Record == k {
			if at, ok := place[c.Revision]; !ok || at < before {
				s.t.Errorf("change %d (%v) came after change %d", at, ok, before)
			} else {
				before = at
			}
		}
	}
}

func watchManyWriters(s *subject) {
	const writers, times = 4, 25
	w := s.watch(s.Fleet)
	type change struct {
		key      store.RecordKey
		revision int64
		mark     int
	}
	var mu sync.Mutex
	var made []change
	var wg sync.WaitGroup
	for i := range writers {
		r := s.again()
		wg.Go(func() {
			for n := range times {
				c := change{key: s.recordKey(fmt.Sprintf("%d/%d", i, n)), mark: w.mark()}
				var err error
				if c.revision, err = store.Put(s.t.Context(), r, c.key, nil, 0, store.Fence{}); err != nil {
					s.t.Error(err)
					return
				}
				mu.Lock()
				made = append(made, c)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, c := range made {
		w.record(c.mark, c.key, c.revision, store.Fence{})
	}
}

// watchSlowly: a reader that is stuck in its loop delays no writer. When it continues, it
// reads all that was changed, or that it missed something.
func watchSlowly(s *subject) {
	const count = 3000
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*watchBound)
	defer cancel()
	missing := make(map[string]bool)
	first := true
	for c, err := range s.Fleet.Watch(ctx, s.project) {
		if err != nil {
			s.t.Fatal(err)
		}
		if first {
			first = false
			s.fill("slow", count, nil)
			for i := range count {
				missing[fmt.Sprintf("slow/%04d", i)] = true
			}
			continue
		}
		if delete(missing, c.Record.Name); c.IsZero() || len(missing) == 0 {
			return
		}
	}
	s.t.Fatalf("%d changes have not come", len(missing))
}

func watchLeft(s *subject) {
	once := func(change bool) {
		for c, err := range s.Fleet.Watch(s.t.Context(), s.project) {
			if err != nil || !c.IsZero() {
				s.t.Fatalf("%+v, %v", c, err)
			}
			if change {
				s.append(s.session(), line("a")) // which stays unread
			}
			break
		}
	}
	once(true) // some begin what stays for all
	before := runtime.NumGoroutine()
	const times, others = 40, 10
	for i := range times {
		once(i%4 == 0)
	}
	deadline := time.Now().Add(watchBound)
	for runtime.NumGoroutine() > before+others {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d goroutines before %d watches, %d after them", before, times, runtime.NumGoroutine())
		}
		s.tick()
	}
}

func watchEnds(s *subject) {
	for c, err := range s.Fleet.Watch(ended(s.t), s.project) {
		s.t.Errorf("%+v, %v with a context that has ended", c, err)
	}
	w := s.watch(s.Fleet)
	w.cancel()
	timer := time.NewTimer(watchBound)
	defer timer.Stop()
	for {
		w.mu.Lock()
		ended, more, failed := w.ended, w.more, w.failed
		w.mu.Unlock()
		if failed != nil {
			return // the cleanup reports it
		}
		if ended {
			break
		}
		select {
		case <-more:
		case <-timer.C:
			s.t.Fatal("the loop does not end with its context")
		}
	}
	// Also in the loop itself, with something to read.
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	for c, err := range s.Fleet.Watch(ctx, s.project) {
		if err != nil || !c.IsZero() {
			s.t.Fatalf("%+v, %v", c, err)
		}
		s.put(s.Fleet, s.recordKey("a"), "", 0)
		cancel()
	}
}

func watchRefused(s *subject) {
	for _, bad := range []string{"", "..", "a/b"} {
		n := 0
		for c, err := range s.Fleet.Watch(s.t.Context(), bad) {
			if _, ok := errors.AsType[*store.KeyError](err); !ok {
				s.t.Fatalf("project %q: %+v, %v; want a *KeyError", bad, c, err)
			}
			n++
		}
		if n != 1 {
			s.t.Errorf("project %q: %d errors", bad, n)
		}
	}
}
