package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Turns are how long a turn of an awake conversation takes, from the prompt to the end
// of Run, when its outcome is stored: the median of each round.
type Turns struct {
	// Memory is that of a fleet whose store is in memory, Replicas of a worker on
	// the servers, and Client of a client that sends the prompts to that worker.
	Memory, Replicas, Client []float64
}

// measureTurns runs turns one after another. The fleets take turns, so a machine that
// changes its pace changes that of all of them.
func measureTurns(ctx context.Context, n sizes) (t *Turns, err error) {
	err = inScratch(ctx, n.nodes, func(c *cluster, dir string) (err error) {
		t, err = c.turns(ctx, dir, n)
		return err
	})
	return t, err
}

func (c *cluster) turns(ctx context.Context, dir string, n sizes) (_ *Turns, err error) {
	o := fleet.Options{IdleAfter: time.Hour, Logger: quiet(), Session: sessions(dir), Journal: filepath.Join(dir, "journal")}
	local := o
	local.Store, local.Project, local.Journal = store.Memory(), project, filepath.Join(dir, "journal of the fleet in memory")
	inMemory, err := fleet.Open(ctx, local)
	if err != nil {
		return nil, err
	}
	defer closing(inMemory, &err)
	worker, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{Options: c.options(), Fleet: o})
	if err != nil {
		return nil, err
	}
	defer closing(worker, &err)
	client, err := natsfleet.Connect(ctx, c.options())
	if err != nil {
		return nil, err
	}
	defer closing(client, &err)
	t := new(Turns)
	for round := range n.turnRounds + 1 {
		for _, one := range []struct {
			fleet  fleet.Conversations
			key    string
			median *[]float64
		}{{inMemory, "alone", &t.Memory}, {worker, "worker", &t.Replicas}, {client, "client", &t.Client}} {
			took, err := median(ctx, one.fleet, one.key, n.turns)
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first one starts the CLI
				*one.median = append(*one.median, took)
			}
		}
	}
	return t, nil
}

// median is how long turns of a conversation take, in nanoseconds.
func median(ctx context.Context, f fleet.Conversations, key string, turns int) (float64, error) {
	times := make([]float64, turns)
	for i := range times {
		begin := time.Now()
		if err := ask(ctx, f, key); err != nil {
			return 0, err
		}
		times[i] = float64(time.Since(begin).Nanoseconds())
	}
	slices.Sort(times)
	return times[turns/2], nil
}

// ask runs a prompt until its outcome is stored.
func ask(ctx context.Context, f fleet.Conversations, key string) error {
	answered := false
	for m, err := range f.Run(ctx, key, "again") {
		if err != nil {
			return err
		}
		if r, ok := m.(*message.Result); ok {
			answered = r.Text == "answer to again"
		}
	}
	if !answered {
		return errors.New("a prompt has not got its answer")
	}
	return nil
}
