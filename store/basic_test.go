package store_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A store of two functions loads from any place, and names what it cannot do.
func TestBasic(t *testing.T) {
	kept := store.Memory()
	s := store.Basic{AppendFunc: kept.Append, LoadFunc: func(ctx context.Context, k store.Key) iter.Seq2[store.Entry, error] {
		return store.Entries(ctx, kept, k)
	}}
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	if err := s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{store.Entry(`{"n":1}`), store.Entry(`{"n":2}`), store.Entry(`{"n":3}`)}}); err != nil {
		t.Fatal(err)
	}
	var got string
	var place store.Place
	for e, err := range s.Load(t.Context(), k, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if got, place = got+string(e.Entry), e.Place; place == 1 {
			break
		}
	}
	for e, err := range s.Load(t.Context(), k, place) {
		if err != nil {
			t.Fatal(err)
		}
		got += string(e.Entry)
	}
	if want := `{"n":1}{"n":2}{"n":3}`; got != want {
		t.Errorf("read in two pieces: %s, want %s", got, want)
	}
	for _, err := range s.Load(t.Context(), store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000002"}, 0) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a transcript that is not there: %v", err)
		}
	}
}

// last returns the error of a loop.
func last[T any](all iter.Seq2[T, error]) (last error) {
	for _, err := range all {
		last = err
	}
	return last
}

func TestBasicUnsupported(t *testing.T) {
	var s store.Basic
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	_, acquire := s.Acquire(t.Context(), "p", "n", "o", time.Minute)
	_, now := s.Now(t.Context())
	for method, err := range map[string]error{
		"Append": s.Append(t.Context(), k, store.Batch{}), "Load": last(s.Load(t.Context(), k, 0)), "List": last(s.List(t.Context(), "p")),
		"Subagents": last(s.Subagents(t.Context(), "p", k.Session)), "Delete": s.Delete(t.Context(), k, store.Fence{}),
		"Acquire": acquire, "Renew": s.Renew(t.Context(), store.Lease{}), "Release": s.Release(t.Context(), store.Lease{}), "Now": now,
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
