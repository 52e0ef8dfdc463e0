package natsfleet_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// A change is announced to the other processes, and only to those of its project.
func TestNotify(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	mine, other := openStore(t, c.URL()), openStore(t, c.URL())
	changes := make(chan store.Change, 100)
	stop, err := other.Notify(t.Context(), "acme.prod", func(ch store.Change) { changes <- ch })
	if err != nil {
		t.Fatal(err)
	}
	k := store.RecordKey{Project: "acme.prod", Kind: "prompt.v1", Name: "t/a.b/c/1"}
	elsewhere := k
	elsewhere.Project = "acme"
	if _, err := mine.PutRecord(t.Context(), elsewhere, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	rev, err := mine.PutRecord(t.Context(), k, []byte("v"), 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := mine.Acquire(t.Context(), "acme.prod", "c/x", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.DropRecord(t.Context(), k, rev, lease.Fence); err != nil {
		t.Fatal(err)
	}
	sub := store.Key{Project: "acme.prod", Session: "00000000-0000-4000-8000-000000000001", Sub: "subagents/agent-1.x"}
	for _, k := range []store.Key{sub.Main(), sub} {
		if err := mine.Append(t.Context(), k, store.Batch{Entries: []store.Entry{[]byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		for _, err := range store.Entries(t.Context(), mine, k) { // leaves a barrier
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmp.Or(mine.Renew(t.Context(), lease), mine.Release(t.Context(), lease)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []store.Change{{Record: k}, {Record: k, Dropped: true, Lease: "c/x", Token: lease.Token}, {Transcript: sub.Main()}, {Transcript: sub}, {Lease: "c/x", Released: true}} {
		if got := <-changes; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	stop()
	if _, err := mine.PutRecord(t.Context(), k, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if len(changes) != 0 {
		t.Error(fmt.Sprint("after the end: ", <-changes))
	}
}

// One whose connection broke learns that it may have missed changes.
func TestNotifyMissed(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	g := newGate(t, strings.TrimPrefix(c.URL(), "nats://"))
	mine, other := openStore(t, c.URL()), openStore(t, g.url())
	changes := make(chan store.Change, 100)
	stop, err := other.Notify(t.Context(), "p", func(ch store.Change) { changes <- ch })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	g.close()
	k := store.RecordKey{Project: "p", Kind: "k", Name: "while-it-was-away"}
	if _, err := mine.PutRecord(t.Context(), k, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	g.heal()
	if got := <-changes; got != (store.Change{}) {
		t.Errorf("got %+v", got)
	}
	k.Name = "now"
	if _, err := mine.PutRecord(t.Context(), k, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	got := <-changes
	for got == (store.Change{}) {
		got = <-changes // the connection broke again
	}
	if got.Record != k {
		t.Errorf("got %+v", got)
	}
}

// If changes arrive faster than they are handled and some are dropped, the store
// reports it.
func TestNotifySlow(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	free, changes := make(chan struct{}), make(chan store.Change, 1000)
	stop, err := s.Notify(t.Context(), "p", func(ch store.Change) {
		<-free
		changes <- ch
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// The client keeps 64 MB.
	const sent = 80
	stranger, large := newStranger(t, c.URL()), make([]byte, 1<<20-1000)
	for range sent {
		if err := stranger.nc.Publish("claude.stored.r.p.k.name", large); err != nil {
			t.Fatal(err)
		}
	}
	if err := stranger.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Now(t.Context()); err != nil { // its answer comes behind them
		t.Fatal(err)
	}
	close(free)
	for handled := 0; ; handled++ {
		select {
		case ch := <-changes:
			if ch != (store.Change{}) {
				continue
			}
			if handled >= sent {
				t.Fatalf("%d of %d were handled; this test shows nothing", handled, sent)
			}
			return
		case <-time.After(bound):
			t.Fatalf("%d of %d were handled, and nothing was said", handled, sent)
		}
	}
}
