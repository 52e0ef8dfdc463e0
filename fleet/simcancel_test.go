package fleet_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// cancel cancels a prompt, and keeps the answer of the fleet.
func (w *world) cancel(ctx context.Context, f *fleet.Fleet, p *sentPrompt) {
	ctx, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	p.stuck = p.stuck || w.isStuckAt(ctx, p.id)
	err := f.Cancel(ctx, p.key, p.id)
	w.log("%s of %s is cancelled, stuck %t: %v", p.id[32:], p.key, p.stuck, err)
	if p.cancelled {
		return // before
	}
	switch {
	case err == nil:
		p.cancelled = true
		w.mu.Lock()
		w.dropped[p.text] = true
		w.mu.Unlock()
		w.cancelled++
		if p.stuck {
			w.freed++
		}
	case errors.Is(err, fleet.ErrBegun), errors.Is(err, fleet.ErrUnknown):
		w.begun++
		return
	default:
		p.unsure = true
		w.unsure++
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.asked = w.asked[p.text]
}

// anyPrompt chooses a prompt: more often than not one that is in the queue.
func (w *world) anyPrompt(ctx context.Context) *sentPrompt {
	var queued []*sentPrompt
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "prompt"}, "") {
		for i := range w.sent {
			if err == nil && strings.HasSuffix(r.Key.Name, w.sent[i].id) {
				queued = append(queued, &w.sent[i])
			}
		}
	}
	if len(queued) > 0 && w.rng.IntN(8) > 0 {
		return queued[w.rng.IntN(len(queued))]
	}
	return &w.sent[w.rng.IntN(len(w.sent))]
}

// isStuckAt reports whether a conversation is stuck at a prompt, by what the store has.
func (w *world) isStuckAt(ctx context.Context, prompt string) bool {
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "conversation"}, "") {
		if err == nil && strings.Contains(string(r.Value), `"stuck":{"prompt":"`+prompt) {
			return true
		}
	}
	return false
}
