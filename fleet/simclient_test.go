package fleet_test

import (
	"context"

	"github.com/claude-agent-go/claude/fleet"
)

// openClient starts a process that runs nothing. What it changes, the machines have to
// find in the store.
func (w *world) openClient(ctx context.Context) (err error) {
	w.client, err = fleet.Open(ctx, fleet.Options{Store: w.db, Project: "p", Owner: "client", Journal: w.dir, Logger: quiet(), MaxLive: fleet.NoCLIs})
	return err
}

// either returns a fleet, or the client.
func (w *world) either(f *fleet.Fleet) *fleet.Fleet {
	if w.rng.IntN(2) == 0 {
		return w.client
	}
	return f
}

// interrupt interrupts a conversation from the client, if it waits for a person.
func (w *world) interrupt(ctx context.Context, key string) {
	info, err := w.client.Get(ctx, key)
	if err != nil || info.State != fleet.AwaitingPerson {
		return
	}
	err = w.client.Interrupt(ctx, key)
	w.log("%s is interrupted while it waits for a person: %v", key, err)
	if err == nil {
		w.interrupted++
	}
}
