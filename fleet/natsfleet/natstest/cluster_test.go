package natstest_test

import (
	"context"
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
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "s", Subjects: []string{"s.>"}, Replicas: nodes}); err != nil {
				t.Fatal(err)
			}
			publish(t, ctx, js, 1)
			if nodes == 3 {
				i := c.Leader("s")
				if i < 0 {
					t.Fatal("the stream has no leader")
				}
				c.Stop(i)
				publish(t, ctx, js, 2)
				c.Start(i)
			} else {
				publish(t, ctx, js, 2)
			}
			c.Restart()
			publish(t, ctx, js, 3)
		})
	}
}

// publish publishes a message until it is stored, and wants its sequence. A server
// that stops or has just started may take a message and never acknowledge it, so
// each attempt has a bound of its own; the server drops the second copy.
func publish(t *testing.T, ctx context.Context, js jetstream.JetStream, want uint64) {
	t.Helper()
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		ack, err := js.Publish(attempt, "s.x", nil, jetstream.WithMsgID(fmt.Sprint(want)))
		cancel()
		if err == nil {
			if ack.Sequence != want {
				t.Fatalf("sequence %d, want %d", ack.Sequence, want)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}
