package natsfleet

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// Each answer gets its own messages, in order, and those that arrive after its
// reader has left are dropped. All waits end with the connection.
func TestReplies(t *testing.T) {
	nc, err := nats.Connect(natstest.Start(t, natstest.Options{}).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	all, err := newReplies(nc)
	if err != nil {
		t.Fatal(err)
	}
	one, other, late := all.expect(), all.expect(), all.expect()
	send := func(r *reply, text string) {
		if err := nc.Publish(r.subject, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(r *reply, text string) {
		t.Helper()
		if m, err := r.next(t.Context()); err != nil || string(m.Data) != text {
			t.Fatalf("next = %v, %v; want %s", m, err, text)
		}
	}
	late.end()
	send(late, "late")
	send(one, "1")
	send(other, "a")
	send(one, "2")
	want(other, "a")
	want(one, "1")
	want(one, "2")
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := one.next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("next = %v", err)
	}
	one.end()
	if len(all.open) != 1 || len(late.come) != 0 {
		t.Errorf("%d answers are read, and %d messages of one that is not", len(all.open), len(late.come))
	}
	go nc.Close()
	if _, err := other.next(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("next = %v", err)
	}
}
