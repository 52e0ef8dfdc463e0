package natsfleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// watchProject watches a project until stop is called, or the test ends. It returns when the first
// zero has come.
func watchProject(t *testing.T, s *natsfleet.Store, project string) (changes chan store.Changed, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	changes = make(chan store.Changed, 1000)
	var wg sync.WaitGroup
	var last error
	wg.Go(func() {
		for c, err := range s.Watch(ctx, project) {
			if last = err; err == nil {
				changes <- c
			}
		}
		close(changes)
	})
	stop = func() error { cancel(); wg.Wait(); return last }
	t.Cleanup(func() { _ = stop() })
	if c := <-changes; !c.IsZero() {
		t.Fatalf("the first to come is %+v", c)
	}
	return changes, stop
}

// A change is announced to the other processes with its author, and only to those of its
// project. What only the stream needs is not.
func TestWatch(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	mine, other := openStore(t, c.URL()), openStore(t, c.URL())
	changes, stop := watchProject(t, other, "acme.prod")
	k := store.RecordKey{Project: "acme.prod", Kind: "prompt.v1", Name: "t/a.b/c/1"}
	elsewhere := k
	elsewhere.Project = "acme"
	if _, err := store.Put(t.Context(), mine, elsewhere, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	rev, err := store.Put(t.Context(), mine, k, []byte("v"), 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := mine.Acquire(t.Context(), "acme.prod", "c/x", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Drop(t.Context(), mine, k, rev, lease.Fence); err != nil {
		t.Fatal(err)
	}
	sub := store.Key{Project: "acme.prod", Session: "00000000-0000-4000-8000-000000000001", Sub: "subagents/agent-1.x"}
	large := store.Entry(`{"text":"` + strings.Repeat("x", 3<<20) + `"}`) // of several messages
	for _, k := range []store.Key{sub.Main(), sub} {
		if err := mine.Append(t.Context(), k, store.Batch{Entries: []store.Entry{large}}); err != nil {
			t.Fatal(err)
		}
		for _, err := range store.Entries(t.Context(), mine, k) { // leaves a barrier
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmp.Or(mine.Delete(t.Context(), sub, lease.Fence), mine.Delete(t.Context(), sub.Main(), lease.Fence),
		mine.Renew(t.Context(), lease), mine.Release(t.Context(), lease))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []store.Changed{
		{Record: k, Revision: rev}, {Record: k, By: lease.Fence}, {Transcript: sub.Main()}, {Transcript: sub},
		{Transcript: sub, By: lease.Fence}, {Transcript: sub.Main(), By: lease.Fence}, {Released: "c/x", By: lease.Fence},
	} {
		if got := <-changes; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// One whose connection broke learns that it may have missed changes.
func TestWatchMissed(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	g := newGate(t, strings.TrimPrefix(c.URL(), "nats://"))
	mine, other := openStore(t, c.URL()), openStore(t, g.url())
	changes, _ := watchProject(t, other, "p")
	g.close()
	k := store.RecordKey{Project: "p", Kind: "k", Name: "while-it-was-away"}
	if _, err := store.Put(t.Context(), mine, k, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	g.heal()
	if got := <-changes; !got.IsZero() {
		t.Errorf("got %+v", got)
	}
	k.Name = "now"
	if _, err := store.Put(t.Context(), mine, k, nil, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	got := <-changes
	for got.IsZero() {
		got = <-changes // the connection broke again
	}
	if got.Record != k {
		t.Errorf("got %+v", got)
	}
}

// Who begins to watch while no server can be reached waits for one.
func TestWatchBeginsAlone(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	g := newGate(t, strings.TrimPrefix(c.URL(), "nats://"))
	s := openStore(t, g.url())
	g.close()
	began := make(chan error)
	go func() {
		for c, err := range s.Watch(t.Context(), "p") {
			if err == nil && !c.IsZero() {
				err = fmt.Errorf("the first to come is %+v", c)
			}
			began <- err
			return
		}
	}()
	select {
	case err := <-began:
		t.Fatalf("it begins while the server cannot be reached, and its error is %v", err)
	case <-time.After(100 * time.Millisecond): // real time: if it is too short, the test shows less
	}
	g.heal()
	if err := <-began; err != nil {
		t.Error(err)
	}
}

// A store that is closed ends its watchers with an error.
func TestWatchClosed(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	changes, stop := watchProject(t, s, "p")
	s.Close()
	for range changes { // until the loop has ended
	}
	if err := stop(); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("it ends with %v", err)
	}
}

// If changes arrive faster than they are handled and some are dropped, the watcher is
// told.
func TestWatchSlow(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	free, changes := make(chan struct{}), make(chan store.Changed, 1000)
	stop, err := s.Subscribe(t.Context(), "p", func(c store.Changed) {
		<-free
		changes <- c
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
			if !ch.IsZero() {
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
