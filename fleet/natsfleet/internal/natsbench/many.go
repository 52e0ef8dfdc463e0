package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/internal/test/fleetload"
)

// Many holds the cost of many conversations. The heap is that of a worker and of
// the client that sends the prompts, in one process.
type Many struct {
	fleetload.Report
	// ServerMemory is the memory of the largest server at the end, 0 where the
	// system does not report it. StreamBytes is the size of the stream on each
	// server.
	ServerMemory int64
	StreamBytes  uint64
}

// measureMany gives each conversation a prompt in every round.
func measureMany(ctx context.Context, n sizes) (m *Many, err error) {
	err = inScratch(ctx, n.nodes, func(c *cluster, dir string) (err error) {
		m, err = c.many(ctx, dir, n)
		return err
	})
	return m, err
}

func (c *cluster) many(ctx context.Context, dir string, n sizes) (_ *Many, err error) {
	slots := new(fleetload.Slots)
	worker, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{Options: c.options(), Fleet: fleet.Options{
		MaxLive: n.live, IdleAfter: 100 * time.Millisecond, QueueAll: max(n.conversations, fleetload.WarmUp), Logger: quiet(), Trace: slots.Trace(), Session: sessions(dir), Journal: filepath.Join(dir, "journal"),
	}})
	if err != nil {
		return nil, err
	}
	defer closing(worker, &err)
	client, err := natsfleet.Connect(ctx, c.options())
	if err != nil {
		return nil, err
	}
	defer closing(client, &err)
	load := &fleetload.Load{Fleet: client, Slots: slots, Conversations: n.conversations, Rounds: n.rounds, Progress: os.Stderr}
	r, err := load.Run(ctx)
	if err != nil {
		return nil, err
	}
	m := &Many{Report: *r}
	if m.ServerMemory, err = c.Memory(); err != nil {
		return nil, err
	}
	m.StreamBytes, err = c.streamBytes(ctx)
	return m, err
}

// streamBytes is the size of the stream on each server.
func (c *cluster) streamBytes(ctx context.Context) (uint64, error) {
	nc, err := nats.Connect(c.URL())
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	s, err := js.Stream(ctx, "claude")
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().State.Bytes, nil
}
