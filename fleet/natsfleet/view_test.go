package natsfleet_test

import (
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// A view is not answered by a server that lacks what the process knows of. If no server
// has it, the stream was recreated: then a view finds what there is, and the next one does so
// with a single request.
func TestViewFromServerBehind(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	key := store.RecordKey{Project: "p", Kind: "k", Name: "a"}
	revision, err := store.Put(t.Context(), s, key, []byte("1"), 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	view := store.View{Keys: []store.RecordKey{key}, Folders: []store.Folder{{Project: "p", Kind: "other"}}, Known: true}
	requests := func() uint64 {
		t.Helper()
		before := s.Sent()
		all, err := s.View(t.Context(), view)
		if err != nil || len(all) != 1 || all[0].Revision != revision {
			t.Fatalf("View = %+v, %v; want revision %d", all, err, revision)
		}
		return s.Sent() - before
	}
	if n := requests(); n != 1 {
		t.Errorf("a view took %d requests", n)
	}
	s.Knows(1 << 40)
	if n := requests(); n < 3 {
		t.Errorf("a view that no server can answer took %d requests", n)
	}
	if n := requests(); n != 1 {
		t.Errorf("the view after it took %d requests", n)
	}
}
