package natstest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/leak"
)

// What was stored is there after a node, and after all nodes, have been away.
func TestClusterKeepsItsData(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			leak.Check(t)
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			nc, err := nats.Connect(c.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			insist(t, func(ctx context.Context) error {
				_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "s", Subjects: []string{"s.>"}, Replicas: nodes})
				return err
			})
			publish(t, js, 1)
			if nodes == 3 {
				i := -1
				insist(t, func(context.Context) error {
					if i = c.Leader("s"); i < 0 {
						return errors.New("the stream has no leader")
					}
					return nil
				})
				c.Stop(i)
				publish(t, js, 2)
				c.Start(i)
			} else {
				publish(t, js, 2)
			}
			c.Restart()
			publish(t, js, 3)
		})
	}
}

// publish publishes a message until it is stored, and wants its sequence. The server
// drops a second copy.
func publish(t *testing.T, js jetstream.JetStream, want uint64) {
	t.Helper()
	insist(t, func(ctx context.Context) error {
		ack, err := js.Publish(ctx, "s.x", nil, jetstream.WithMsgID(fmt.Sprint(want)))
		if err == nil && ack.Sequence != want {
			t.Fatalf("sequence %d, want %d", ack.Sequence, want)
		}
		return err
	})
}

// insist repeats a request until it succeeds. A server that stops or has just
// started may take a request and never answer it, so each attempt has a bound of its
// own.
func insist(t *testing.T, do func(context.Context) error) {
	t.Helper()
	for limit := time.Now().Add(natstest.Bound); ; <-time.After(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		err := do(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}
