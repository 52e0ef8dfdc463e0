package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/claude-agent-go/claude/store"
)

// tails are the promises about reading on.
func tails() []contract {
	return []contract{
		{"reading on yields the rest", readOn},
		{"reading on in nothing is not found", readOnNothing},
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
	var places []store.Place
	for e, err := range s.Fleet.Load(s.t.Context(), k, 0) {
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
	for n, place := range append([]store.Place{0}, places...) {
		var got []string
		for _, e := range collect(s.t, s.again().Load(s.t.Context(), k, place)) {
			got = append(got, string(e.Entry))
		}
		if !slices.Equal(got, want[n:]) {
			s.t.Errorf("behind %d: %q, want %q", place, got, want[n:])
		}
		if n > 0 {
			continue
		}
		for range s.Fleet.Load(s.t.Context(), k, place) {
			break // a loop can be left
		}
	}
	rest := collect(s.t, s.Fleet.Load(s.t.Context(), k, places[len(places)-1]))
	if len(rest) != 1 || rest[0].Place <= places[len(places)-1] {
		s.t.Fatalf("the rest is %v", rest)
	}
	if more := collect(s.t, s.Fleet.Load(s.t.Context(), k, rest[0].Place)); len(more) != 0 {
		s.t.Errorf("%d entries behind the end", len(more))
	}
}

func readOnNothing(s *subject) {
	s.wantsError("Load", lastError(s.Fleet.Load(s.t.Context(), s.session(), 0)), store.ErrNotFound)
	err := lastError(s.Fleet.Load(s.t.Context(), store.Key{}, 0))
	if _, ok := errors.AsType[*store.KeyError](err); !ok {
		s.t.Errorf("Load without a key: %v", err)
	}
}
