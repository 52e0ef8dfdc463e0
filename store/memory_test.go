package store_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// In memory each change comes once, at once and in order, and nothing else comes.
func TestMemoryWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := store.Memory(), t.Context()
		var got []store.Changed
		watching, stop := context.WithCancel(ctx)
		go func() {
			for c, err := range s.Watch(watching, "p") {
				if err != nil {
					t.Error(err)
				}
				got = append(got, c)
			}
		}()
		synctest.Wait()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		a, b := store.RecordKey{Project: "p", Kind: "k", Name: "a"}, store.RecordKey{Project: "p", Kind: "k", Name: "b"}
		lease, err := s.Acquire(ctx, "p", "l", "me", time.Minute)
		must(err)
		first, err := s.Change(ctx, store.Fence{}, store.RecordChange{Key: a}, store.RecordChange{Key: b})
		must(err)
		second, err := s.Change(ctx, lease.Fence, store.RecordChange{Key: b, Keep: true, Revision: first[1]}, store.RecordChange{Key: a, Drop: true, Revision: first[0]})
		must(err)
		if _, err := s.Change(ctx, store.Fence{}, store.RecordChange{Key: a}, store.RecordChange{Key: b}); err == nil {
			t.Error("what is there is made again")
		}
		k := store.Key{Project: "p", Session: "11111111-1111-4111-8111-111111111111"}
		batch := store.Batch{ID: "one", Entries: []store.Entry{[]byte(`{}`)}, Fence: lease.Fence}
		must(s.Append(ctx, k, batch))
		must(s.Append(ctx, k, batch)) // stored already
		must(s.Delete(ctx, k, store.Fence{}))
		must(s.Release(ctx, lease))
		must(s.Release(ctx, lease)) // given back already
		synctest.Wait()
		want := []store.Changed{{},
			{Record: a, Revision: first[0]}, {Record: b, Revision: first[1]},
			{Record: a, By: lease.Fence},
			{Transcript: k, By: lease.Fence}, {Transcript: k},
			{Released: "l", By: lease.Fence},
		}
		if !slices.Equal(got, want) || second[0] != first[1] || second[1] != 0 {
			t.Errorf("%+v have come, want %+v; %v after %v", got, want, second, first)
		}
		stop()
	})
}
