package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
)

// natsTurns is how many turns a round has.
const natsTurns = 100

// onNATS is the fleet on three servers, in the names of rows.
const onNATS = "a fleet on NATS"

// The names of its other rows.
const (
	rowNATSTurn   = "turn on three replicas (limit: in memory), median, ns"
	rowNATSAdded  = "what three replicas add to a turn, median of the differences, ns"
	rowNATSClient = "turn on three replicas, sent by a client (limit: in memory), median, ns"
	rowNATSServer = "memory of each server in the end, bytes"
	rowNATSStream = "conversation of three turns on each disk, bytes"
)

// natsReport is the output of natsbench. Fields that it has not measured are nil.
type natsReport struct {
	Turns *struct{ Memory, Replicas, Client []float64 }
	Many  *struct {
		manyReport
		ServerMemory, StreamBytes float64
	}
}

// natsGroups measure a fleet on NATS. The program that does so is in the module that
// links it.
func natsGroups() []group {
	return []group{{"turn on NATS", natsTurn}, {"conversations on NATS", natsMany}}
}

// runNATS builds the program and runs it.
func runNATS(ctx context.Context, b *bench, args ...string) (*natsReport, error) {
	r := new(natsReport)
	return r, runProgram(ctx, filepath.Join(b.root, "fleet", "natsfleet"), "./internal/natsbench", r, args...)
}

// natsTurn measures a turn of a conversation that is awake.
func natsTurn(ctx context.Context, b *bench) ([]row, error) {
	r, err := runNATS(ctx, b, "-turns", strconv.Itoa(b.scale(natsTurns)), "-turn-rounds", strconv.Itoa(b.rounds))
	if err != nil {
		return nil, err
	}
	t := r.Turns
	if t == nil || len(t.Memory) != b.rounds || len(t.Replicas) != b.rounds || len(t.Client) != b.rounds {
		return nil, errors.New("natsbench has not measured all rounds")
	}
	added := differences(t.Replicas, t.Memory)
	limit := medianOf(slices.Clone(t.Memory))
	return []row{
		{Case: rowNATSTurn, Ours: medianOf(slices.Clone(t.Replicas)), Limit: limit, Spread: spreadOf(slices.Clone(t.Replicas))},
		{Case: rowNATSAdded, Ours: medianOf(slices.Clone(added)), Spread: spreadOf(added)},
		{Case: rowNATSClient, Ours: medianOf(slices.Clone(t.Client)), Limit: limit, Spread: spreadOf(slices.Clone(t.Client))},
	}, nil
}

// natsMany measures many conversations.
func natsMany(ctx context.Context, b *bench) ([]row, error) {
	r, err := runNATS(ctx, b, "-conversations", strconv.Itoa(b.scale(fleetConversations)), "-rounds", strconv.Itoa(fleetRounds), "-live", strconv.Itoa(fleetLive))
	if err != nil {
		return nil, err
	}
	if r.Many == nil {
		return nil, errors.New("natsbench has not measured many conversations")
	}
	if err := r.Many.check(); err != nil {
		return nil, err
	}
	rows := r.Many.rows(onNATS)
	if r.Many.ServerMemory > 0 { // the system reports it
		rows = append(rows, row{Case: rowNATSServer, Ours: new(r.Many.ServerMemory)})
	}
	return append(rows, row{Case: rowNATSStream, Ours: new(r.Many.StreamBytes / float64(r.Many.Conversations))}), nil
}

// natsGoals are about a fleet on NATS.
func natsGoals() []goal {
	return append([]goal{
		below("three replicas add less than 5 ms to a turn, median", rowNATSAdded, "ns", func(r row) *float64 { return r.Ours }, 5e6),
	}, manyGoals(onNATS)...)
}

// natsMethod describes how a fleet on NATS is measured.
const natsMethod = `
### How fleets on NATS are measured

Three servers with JetStream run on the same machine, each in a process of its own, and keep everything three times; they have their defaults, so they sync their disks every two minutes. The workers and clients are in one process with the scripted CLI, and the memory that is measured is that of this process, without the servers.

- **A turn** is timed from the prompt to the end of ` + "`Run`" + `, when its outcome is stored. The conversation is awake, and nothing else happens. The limit is the same turn of a fleet in this process whose store is in memory; the two take turns, 100 turns in a round, and what three replicas add is the difference of their medians in a round, and the median of the rounds. The spread is that of the rounds. Sent by a client, the prompt and its outcome also travel between the client and the worker, by way of the servers.
- **Many:** a client sends a prompt to every conversation in each round, and a worker with 8 CLIs runs them, each from its sleep: it takes the lease, reads the transcript, starts the CLI and its handshake, runs the turn, and gives the lease back. Otherwise as for the other fleets. The time of a prompt is that of a machine on which the servers, the worker and the client share the processors.
- **The servers:** the memory is what the largest of the three occupies when all rounds are done, and the disk is the stream's size divided by the conversations; the messages of leases, which are a part of both, go after ten minutes.
`
