package fleet_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
)

// check compares the outcome of the prompts with what was promised.
func (w *world) check(ctx context.Context, f *fleet.Fleet, keys []string) {
	borne := make(map[string]float64)
	for _, p := range w.sent {
		o, err := f.Prompt(ctx, p.key, p.id)
		borne[p.key] += o.Cost.USD
		switch {
		case errors.Is(err, fleet.ErrUnknown) && !p.accepted:
		case err != nil:
			w.fault("prompt %s of %s, accepted %v: %v", p.id, p.key, p.accepted, err)
		case o.Status != fleet.Answered:
			w.fault("prompt %s of %s is %s: %s", p.id, p.key, o.Status, o.Error)
		}
	}
	for _, key := range keys {
		w.checkTranscript(ctx, f, key)
		if info, err := f.Get(ctx, key); err == nil && math.Abs(borne[key]-info.Cost.USD) > 1e-9 {
			w.fault("the prompts of %s bear $%v of $%v", key, borne[key], info.Cost.USD)
		}
	}
}

// checkTranscript checks that a conversation has each prompt once, and those that
// steer no turn in order. Each has one answer, unless a turn took the next one in.
func (w *world) checkTranscript(ctx context.Context, f *fleet.Fleet, key string) {
	if _, err := f.Get(ctx, key); errors.Is(err, fleet.ErrUnknown) {
		return
	}
	var order []string
	answers := make(map[string]int)
	for _, e := range w.events(ctx, f, key) {
		switch m := e.Message.(type) {
		case *message.User:
			if len(m.ToolResults()) == 0 {
				order = append(order, m.UUID)
			}
		case *message.Assistant:
			if len(m.ToolUses()) == 0 && len(order) > 0 {
				answers[order[len(order)-1]]++
			}
		}
	}
	var want, all []string
	for _, p := range w.sent {
		if p.key != key || !p.accepted && !slices.Contains(order, p.id) {
			continue
		}
		if all = append(all, p.id); !p.steers {
			want = append(want, p.id)
		}
	}
	if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, all) {
		w.fault("%s has the prompts %q, want %q", key, got, all)
	}
	waited := slices.DeleteFunc(slices.Clone(order), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(waited, want) {
		w.fault("%s has the prompts that waited as %q, want %q", key, waited, want)
	}
	for id, n := range answers {
		if n != 1 {
			w.fault("prompt %s of %s has %d answers", id, key, n)
		}
	}
}

// events returns the events of a conversation, read in pieces.
func (w *world) events(ctx context.Context, f *fleet.Fleet, key string) (all []fleet.ConversationEvent) {
	var at fleet.Cursor
	for {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		n := 0
		for e, err := range f.Events(ctx, key, at) {
			if err != nil {
				break
			}
			if e.Live {
				continue
			}
			all, at = append(all, e), e.Cursor
			if n++; n == 3 {
				break
			}
		}
		cancel()
		if n < 3 {
			return all
		}
	}
}
