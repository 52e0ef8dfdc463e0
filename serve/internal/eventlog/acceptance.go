package eventlog

import (
	"context"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
)

// acceptance is the write-ahead record of a prompt that a sender is about to give to
// the fleet. The head of the log holds it from before the fleet can accept the prompt
// until the log has the prompt. So the log learns of the prompt, and its cost is
// counted, even after a crash in between; and no conversation is deleted for good while
// it can still get one.
type acceptance struct {
	Prompt api.Prompt `json:"prompt"`
	At     time.Time  `json:"at"`
	// Sender names the attempt. If a prompt is sent twice at once, each attempt
	// answers only for itself.
	Sender string `json:"sender"`
}

// SettledAfter is the age at which an attempt is decided: the fleet has accepted its
// prompt or never will, because every step of a sender is bounded by a shorter time.
const SettledAfter = 2 * SenderBound

// SenderBound limits each step of a sender.
const SenderBound = 30 * time.Second

// Intend notes that a prompt is about to be given to the fleet, and names the attempt.
func (l *Log) Intend(ctx context.Context, p api.Prompt) (sender string, err error) {
	now, err := l.book.Records.Now(ctx)
	if err != nil {
		return "", err
	}
	sender = uuid.New()
	return sender, l.write(ctx, func(h *Head) ([]Event, bool) {
		h.Accepting = append(slices.Clone(h.Accepting), acceptance{p, now.UTC(), sender})
		return nil, true
	})
}

// Known returns a prompt as the log knows it, and whether it does. It may have forgotten
// some if there are older events than those in memory. over is why the log has ended,
// empty if it has not.
func (l *Log) Known(prompt string) (p api.Prompt, known, older bool, over string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, known = l.prompts[prompt]
	return p, known, l.first > 1, l.closed
}

// Confirm records that the fleet has accepted a prompt, and returns the prompt as the
// log has it.
func (l *Log) Confirm(ctx context.Context, sender string, p api.Prompt) (api.Prompt, error) {
	out := p
	err := l.write(ctx, func(h *Head) ([]Event, bool) {
		left := h.leave(sender)
		if known, ok := l.prompts[p.ID]; ok {
			out = known
			return nil, left
		}
		return []Event{{Event: api.Event{Type: api.EventPrompt, Prompt: &p}}}, true
	})
	return out, err
}

// Refuse records that the fleet has not accepted the prompt of an attempt.
func (l *Log) Refuse(ctx context.Context, sender string) error {
	return l.write(ctx, func(h *Head) ([]Event, bool) { return nil, h.leave(sender) })
}

// leave takes an attempt out of the head, and reports whether it was there.
func (h *Head) leave(sender string) bool {
	before := len(h.Accepting)
	h.Accepting = slices.DeleteFunc(slices.Clone(h.Accepting), func(a acceptance) bool { return a.Sender == sender })
	return len(h.Accepting) < before
}

// Awaited reports whether the fleet may still get a prompt from an attempt.
func (h *Head) Awaited(now time.Time) bool {
	return slices.ContainsFunc(h.Accepting, func(a acceptance) bool { return now.Sub(a.At) < SettledAfter })
}

// Undecided returns the attempts whose prompts the log does not have yet.
func (l *Log) Undecided() []acceptance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.head.Accepting), func(a acceptance) bool {
		_, known := l.prompts[a.Prompt.ID]
		return known
	})
}

// Accepted records a prompt that the fleet has accepted, unless the log has it.
func (l *Log) Accepted(ctx context.Context, p api.Prompt) error {
	return l.append(ctx, func(*Head) []Event {
		if _, known := l.prompts[p.ID]; known {
			return nil
		}
		return []Event{{Event: api.Event{Type: api.EventPrompt, Prompt: &p}}}
	})
}
