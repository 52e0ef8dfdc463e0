// Package fleetload gives each of many conversations a prompt, round after round, and
// measures what is left in memory when all of them sleep. The programs that measure
// fleets use it: each is in the module that links its store.
package fleetload

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/claude-agent-go/claude/fleet"
)

// Report holds the measurements.
type Report struct {
	Conversations, Rounds int
	// Answered counts the prompts that have their answer, and MostLive the
	// conversations that were awake at once, each with a CLI.
	Answered, MostLive int
	// Heap is the heap after a collection: before the first prompt, and after
	// each round, when all conversations sleep.
	Heap []uint64
	// TurnNS is the time of a round divided by its prompts, of each round.
	TurnNS []float64
}

// Load describes the load, and the fleet that gets it.
type Load struct {
	Fleet                 fleet.Conversations
	Slots                 *Slots // of the fleet that runs the conversations
	Conversations, Rounds int
	Progress              io.Writer
}

// Run sends the prompts, and compares every answer with what it must be.
func (l *Load) Run(ctx context.Context) (*Report, error) {
	r := &Report{Conversations: l.Conversations, Rounds: l.Rounds}
	if _, err := l.ask(ctx, WarmUp, func(i int) string { return fmt.Sprint("warm-up/user-", i) }, "before"); err != nil {
		return nil, err
	}
	heap, err := l.asleep(ctx)
	if err != nil {
		return nil, err
	}
	r.Heap = append(r.Heap, heap)
	for round := range l.Rounds {
		begin := time.Now()
		answered, err := l.ask(ctx, l.Conversations, Key, fmt.Sprint("round ", round))
		if err != nil {
			return nil, err
		}
		r.Answered += answered
		r.TurnNS = append(r.TurnNS, float64(time.Since(begin).Nanoseconds())/float64(l.Conversations))
		if heap, err = l.asleep(ctx); err != nil {
			return nil, err
		}
		r.Heap = append(r.Heap, heap)
		fmt.Fprintf(l.Progress, "round %d: %.1f s, %d answered\n", round+1, time.Since(begin).Seconds(), r.Answered)
	}
	r.MostLive = l.Slots.Most()
	return r, nil
}

// WarmUp is how many other conversations come first, so that what is made once and
// stays does not count.
const WarmUp = 16

// ask sends a prompt to each of n conversations, and waits until all are answered. It
// returns how many were.
func (l *Load) ask(ctx context.Context, n int, key func(int) string, when string) (answered int, err error) {
	prompt := func(i int) string { return fmt.Sprintf("prompt of %d, %s", i, when) }
	ids := make([]string, n)
	for i := range ids {
		if ids[i], err = l.Fleet.Send(ctx, key(i), fleet.Prompt{Text: prompt(i)}); err != nil {
			return 0, err
		}
	}
	for i, id := range ids {
		t, err := outcome(ctx, l.Fleet, key(i), id)
		if err != nil {
			return answered, err
		}
		if t.Status != fleet.PromptAnswered || t.Text != answer(prompt(i)) {
			return answered, fmt.Errorf("conversation %d, %s: %+v", i, when, t)
		}
		answered++
	}
	return answered, nil
}

// asleep waits until all conversations sleep, and returns the heap.
func (l *Load) asleep(ctx context.Context) (heap uint64, err error) {
	if err := l.Slots.AllAsleep(ctx); err != nil {
		return 0, err
	}
	runtime.GC()
	runtime.GC() // what pools and finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, nil
}

// Key is the key of a conversation. Each belongs to one of 100 tenants.
func Key(i int) string { return fmt.Sprintf("tenant-%d/user-%d", i%100, i) }

// outcome waits until a prompt has ended.
func outcome(ctx context.Context, f fleet.Conversations, key, id string) (fleet.Ticket, error) {
	for {
		t, err := f.Prompt(ctx, key, id)
		if err != nil || t.Status != fleet.PromptQueued && t.Status != fleet.PromptRunning {
			return t, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
}
