package natsfleet_test

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// sleepy stops what a process sends, as if it were suspended, at the first write with
// some text after one with another. It implements [nats.CustomDialer].
type sleepy struct {
	mu           sync.Mutex
	after, next  []byte
	asleep, wake chan struct{}
}

// Dial makes a connection to a server.
func (s *sleepy) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &sleepyConn{c, s}, err
}

type sleepyConn struct {
	net.Conn
	*sleepy
}

// Write sends what it may, and waits in front of the rest.
func (c *sleepyConn) Write(b []byte) (int, error) {
	if c.sleeps(b) {
		close(c.asleep)
		<-c.wake
	}
	return c.Conn.Write(b)
}

// sleeps decides about what is to be sent.
func (s *sleepy) sleeps(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.after != nil && bytes.Contains(b, s.after):
		s.after = nil // what follows comes with the next write, as its reply is awaited
	case s.after == nil && s.next != nil && bytes.Contains(b, s.next):
		s.next = nil
		return true
	}
	return false
}

// A process that is suspended once it has taken a lease, before its epoch begins, and
// wakes when another has taken over, leaves that one's epoch alone: the other still
// writes, and the one that woke up late does not.
func TestPausedBeforeTheEpoch(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	stops := &sleepy{asleep: make(chan struct{}), wake: make(chan struct{})}
	a, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), Logger: quiet(), NATS: []nats.Option{nats.SetCustomDialer(stops)}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := openNamed(t, c.URL(), "", beside{})
	stops.mu.Lock()
	stops.after, stops.next = []byte(`"owner":"a"`), []byte(".e")
	stops.mu.Unlock()
	result := make(chan error, 1)
	go func() {
		_, err := a.Acquire(t.Context(), "p", "n", "a", chainTTL)
		result <- err
	}()
	<-stops.asleep
	var second store.Lease
	for limit := time.Now().Add(bound); ; {
		second, err = b.Acquire(t.Context(), "p", "n", "b", time.Hour)
		held, ok := errors.AsType[*store.HeldError](err)
		if err == nil {
			break
		}
		if !ok || time.Now().After(limit) {
			t.Fatal(err)
		}
		<-time.After(held.For)
	}
	close(stops.wake)
	if err := <-result; !errors.Is(err, store.ErrLeased) {
		t.Errorf("the one that woke up late: %v; want %v", err, store.ErrLeased)
	}
	if _, err := store.Put(t.Context(), b, store.RecordKey{Project: "p", Kind: "k", Name: "n"}, []byte("x"), 0, second.Fence); err != nil {
		t.Errorf("its successor writes: %v", err)
	}
}
