package fleet_test

import (
	"context"
	"strings"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// openClient starts a process that runs nothing. The machines have to find its changes
// in the store.
func (w *world) openClient(ctx context.Context) (err error) {
	w.client, err = fleet.Open(ctx, fleet.Options{Store: w.db, Project: "p", Owner: "client", Journal: w.dir, Logger: quiet(), MaxLive: fleet.NoCLIs, Bus: w.bus, DayBudgetUSD: 1000})
	return err
}

// either returns a fleet, or the client.
func (w *world) either(f *fleet.Fleet) *fleet.Fleet {
	if w.rng.IntN(2) == 0 {
		return w.client
	}
	return f
}

// meant returns the prompts whose turn an interrupt can be meant for: those that have
// begun. If none has, it may be any that is about to, because a machine begins before it
// has written that down.
func (w *world) meant(ctx context.Context, key string) []*sentPrompt {
	var begun, waiting []*sentPrompt
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "prompt"}, "") {
		for i := range w.sent {
			p := &w.sent[i]
			if err != nil || p.key != key || !strings.HasSuffix(r.Key.Name, p.id) {
				continue
			}
			waiting = append(waiting, p)
			if strings.Contains(string(r.Value), `"sent":true`) {
				begun = append(begun, p)
			}
		}
	}
	if len(begun) == 0 {
		return waiting
	}
	return begun
}

// interrupt interrupts a conversation, whatever it does. Only a turn that runs by then
// can be meant, even if the store is so slow that others have begun since.
func (w *world) interrupt(ctx context.Context, key string) {
	ctx, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	info, err := w.client.Get(ctx, key)
	if err != nil || info.State == fleet.StateAsleep {
		return
	}
	synctest.Wait() // so that nothing begins or ends between the look at what is meant and the call
	f := w.client
	if len(w.fleets) > 0 && w.rng.IntN(3) > 0 {
		m := w.fleets[w.rng.IntN(len(w.fleets))]
		m.setSlow(time.Duration(w.rng.IntN(50)) * time.Second)
		defer m.setSlow(0)
		f = m.fleet
	}
	meant := w.meant(ctx, key)
	for _, p := range meant {
		p.interrupted = true
	}
	if err = f.Interrupt(ctx, key); err == nil {
		w.noteStopped(ctx, meant)
	}
	w.log("%s is interrupted, it was %s: %v", key, info.State, err)
	switch {
	case err != nil:
	case info.State == fleet.StateWaiting:
		w.withdrawn++
	default:
		w.interrupted++
	}
}

// noteStopped notes where the turns of prompts are that were just interrupted.
func (w *world) noteStopped(ctx context.Context, meant []*sentPrompt) {
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "prompt"}, "") {
		for _, p := range meant {
			if err != nil || !strings.HasSuffix(r.Key.Name, p.id) || !marks(r.Key, r.Value) {
				continue
			}
			var at []*machine
			for _, m := range w.fleets {
				if m.fleet.Turn(p.key) == p.id {
					at = append(at, m)
				}
			}
			w.mu.Lock()
			w.stoppedAt[p.text] = at
			w.mu.Unlock()
			w.marked++
		}
	}
}
