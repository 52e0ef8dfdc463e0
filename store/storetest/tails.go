package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/claude-agent-go/claude/store"
)

// tails are the promises of a store that can read on, and of [store.LoadAfter]
// for one that cannot.
func tails() []contract {
	return []contract{
		{"reading on yields the rest", readOn},
		{"reading on in a store that cannot yields the rest", readOnPlain},
		{"reading on in nothing is not found", readOnNothing},
		{"reading on does not pass by the Load of a store that embeds this one", readOnEmbedded},
	}
}

// readOn reads a transcript in every way in two pieces, with batches appended
// between them, through another handle.
func readOn(s *subject) {
	k := s.session()
	var want []string
	for n := range 5 {
		lines := []string{line(fmt.Sprint("a", n)), fmt.Sprintf(`{"n":%d}`, n)}
		s.append(k, lines...)
		want = append(want, lines...)
	}
	var places []int64
	for e, err := range store.LoadAfter(s.t.Context(), s.Store, k, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		places = append(places, e.Place)
	}
	if len(places) != len(want) || !slices.IsSorted(places) || places[0] <= 0 {
		s.t.Fatalf("places %d", places)
	}
	s.append(k, line("last"))
	want = append(want, line("last"))
	for n, place := range append([]int64{0}, places...) {
		var got []string
		for _, e := range collect(s.t, store.LoadAfter(s.t.Context(), s.again(), k, place)) {
			got = append(got, string(e.Entry))
		}
		if !slices.Equal(got, want[n:]) {
			s.t.Errorf("behind %d: %q, want %q", place, got, want[n:])
		}
		if n > 0 {
			continue
		}
		for range store.LoadAfter(s.t.Context(), s.Store, k, place) {
			break // a loop can be left
		}
	}
	rest := collect(s.t, store.LoadAfter(s.t.Context(), s.Store, k, places[len(places)-1]))
	if len(rest) != 1 || rest[0].Place <= places[len(places)-1] {
		s.t.Fatalf("the rest is %v", rest)
	}
	if more := collect(s.t, store.LoadAfter(s.t.Context(), s.Store, k, rest[0].Place)); len(more) != 0 {
		s.t.Errorf("%d entries behind the end", len(more))
	}
}

// readOnPlain reads on in the store as one that has nothing but Append and Load.
func readOnPlain(s *subject) {
	k, plain := s.session(), struct{ store.Store }{s.Store}
	s.append(k, line("one"), line("two"), line("three"))
	all := collect(s.t, store.LoadAfter(s.t.Context(), plain, k, 0))
	if len(all) != 3 {
		s.t.Fatalf("%d entries", len(all))
	}
	for n, e := range all {
		rest := collect(s.t, store.LoadAfter(s.t.Context(), plain, k, e.Place))
		same := func(a, b store.PlacedEntry) bool { return a.Place == b.Place && string(a.Entry) == string(b.Entry) }
		if !slices.EqualFunc(rest, all[n+1:], same) {
			s.t.Errorf("behind entry %d: %v, want %v", n, rest, all[n+1:])
		}
	}
}

func readOnNothing(s *subject) {
	s.wantsError("LoadAfter", lastError(store.LoadAfter(s.t.Context(), s.Store, s.session(), 0)), store.ErrNotFound)
	err := lastError(store.LoadAfter(s.t.Context(), s.Store, store.Key{}, 0))
	if _, ok := errors.AsType[*store.KeyError](err); !ok {
		s.t.Errorf("LoadAfter without a key: %v", err)
	}
}

// embedsLoad is a store that embeds another one with all that it can do, and has a Load of
// its own: each entry is replaced.
type embedsLoad struct {
	store.Store
	store.Tailer
	store.Summarizer
}

const replaced = `{"replaced":true}`

func (e *embedsLoad) Load(ctx context.Context, k store.Key) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for entry, err := range e.Store.Load(ctx, k) {
			if err == nil {
				entry = store.Entry(replaced)
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

func readOnEmbedded(s *subject) {
	tailer, ok := s.Store.(store.Tailer)
	if !ok {
		return // LoadAfter reads it by Load
	}
	if !tailer.Tails(s.Store) {
		s.t.Error("it does not read on for itself")
	}
	k := s.session()
	s.append(k, line("one"), line("two"))
	for _, e := range collect(s.t, store.LoadAfter(s.t.Context(), &embedsLoad{Store: s.Store, Tailer: tailer}, k, 0)) {
		if string(e.Entry) != replaced {
			s.t.Errorf("the Load of a store that embeds it is passed by: %s", e.Entry)
		}
	}
}
