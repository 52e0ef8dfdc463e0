package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet/internal/servers"
)

// TestMain lets the test binary be the servers.
func TestMain(m *testing.M) {
	if servers.Play() {
		return
	}
	os.Exit(m.Run())
}

// A conversation that sleeps is in the stream and hardly in memory, and what a prompt
// needs is gone when it is answered.
func TestMany(t *testing.T) {
	n := sizes{nodes: 1, conversations: 120, rounds: 3, live: 8}
	m, err := measureMany(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if want := n.conversations * n.rounds; m.Answered != want || m.MostLive > n.live {
		t.Errorf("%d of %d answered, on %d CLIs", m.Answered, want, m.MostLive)
	}
	before, first, last := int(m.Heap[0]), int(m.Heap[1]), int(m.Heap[n.rounds])
	if each := (last - before) / n.conversations; each > 2<<10 {
		t.Errorf("%d bytes for each conversation that sleeps; want at most 2 KiB", each)
	}
	if each := (last - first) / (n.conversations * (n.rounds - 1)); each > 512 {
		t.Errorf("%d bytes stay of each prompt; want none, within 512", each)
	}
	if m.StreamBytes == 0 {
		t.Error("the stream is empty")
	}
}

// A turn is measured in all fleets.
func TestTurns(t *testing.T) {
	const rounds = 2
	r, err := measureTurns(t.Context(), sizes{nodes: 1, turnRounds: rounds, turns: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Memory) != rounds || len(r.Replicas) != rounds || len(r.Client) != rounds {
		t.Fatalf("%+v", r)
	}
	for i := range rounds {
		if r.Memory[i] <= 0 || r.Replicas[i] <= 0 || r.Client[i] <= 0 {
			t.Errorf("round %d: %+v", i, r)
		}
	}
}

// An interrupt ends a measurement; the servers run until the fleets on them have
// ended.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	err := inScratch(ctx, 1, func(c *cluster, _ string) error {
		nc, err := nats.Connect(c.URL(), nats.NoReconnect())
		if err != nil {
			return err
		}
		defer nc.Close()
		interrupt()
		if err := c.Signal(0, os.Interrupt); err != nil { // as a terminal does
			return err
		}
		for range 100 { // a process that was told to end needs a moment for it
			if err := nc.Flush(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("the server ends early: %v", err)
	}
	if _, err := servers.Start(ctx, t.TempDir(), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("servers are started although nobody wants them: %v", err)
	}
}
