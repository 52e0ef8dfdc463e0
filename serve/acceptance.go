package serve

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
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

// settledAfter is the age at which an attempt is decided: the fleet has accepted its
// prompt or never will, because every step of a sender is bounded by a shorter time.
const settledAfter = 2 * lastingBound

// intend notes that a prompt is about to be given to the fleet, and names the attempt.
func (l *eventLog) intend(ctx context.Context, p api.Prompt) (sender string, err error) {
	now, err := l.book.records.Now(ctx)
	if err != nil {
		return "", err
	}
	sender = uuid.New()
	return sender, l.write(ctx, func(h *logHead) ([]logEvent, bool) {
		h.Accepting = append(slices.Clone(h.Accepting), acceptance{p, now.UTC(), sender})
		return nil, true
	})
}

// confirm records that the fleet has accepted a prompt, and returns the prompt as the
// log has it.
func (l *eventLog) confirm(ctx context.Context, sender string, p api.Prompt) (api.Prompt, error) {
	out := p
	err := l.write(ctx, func(h *logHead) ([]logEvent, bool) {
		left := h.leave(sender)
		if known, ok := l.prompts[p.ID]; ok {
			out = known
			return nil, left
		}
		return []logEvent{{Event: api.Event{Type: api.EventPrompt, Prompt: &p}}}, true
	})
	return out, err
}

// refuse records that the fleet has not accepted the prompt of an attempt.
func (l *eventLog) refuse(ctx context.Context, sender string) error {
	return l.write(ctx, func(h *logHead) ([]logEvent, bool) { return nil, h.leave(sender) })
}

// leave takes an attempt out of the head, and reports whether it was there.
func (h *logHead) leave(sender string) bool {
	before := len(h.Accepting)
	h.Accepting = slices.DeleteFunc(slices.Clone(h.Accepting), func(a acceptance) bool { return a.Sender == sender })
	return len(h.Accepting) < before
}

// awaited reports whether the fleet may still get a prompt from an attempt.
func (h *logHead) awaited(now time.Time) bool {
	return slices.ContainsFunc(h.Accepting, func(a acceptance) bool { return now.Sub(a.At) < settledAfter })
}

// undecided returns the attempts whose prompts the log does not have yet.
func (l *eventLog) undecided() []acceptance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.head.Accepting), func(a acceptance) bool {
		_, known := l.prompts[a.Prompt.ID]
		return known
	})
}

// finishAccepting records the prompts, older than an age, that the fleet has accepted
// for a process that died before it could record them itself.
func (s *logs) finishAccepting(ctx context.Context, l *eventLog, age time.Duration) error {
	for _, a := range l.undecided() {
		// Its prompt may be older than the log's memory. Recorded again, its turn would
		// count twice.
		if err := l.recallSince(ctx, a.At); err != nil {
			return err
		}
	}
	all := l.undecided()
	if len(all) == 0 {
		return nil
	}
	now, err := l.book.records.Now(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if now.Sub(a.At) < age {
			continue
		}
		_, err := s.fleet.Prompt(ctx, l.key, a.Prompt.ID)
		switch {
		case err == nil:
			err = l.append(ctx, func(*logHead) []logEvent {
				if _, known := l.prompts[a.Prompt.ID]; known {
					return nil
				}
				return []logEvent{{Event: api.Event{Type: api.EventPrompt, Prompt: &a.Prompt}}}
			})
		case errors.Is(err, fleet.ErrUnknown) && now.Sub(a.At) >= settledAfter:
			err = l.refuse(ctx, a.Sender)
		case errors.Is(err, fleet.ErrUnknown):
			err = nil // it may still come
		}
		if err != nil {
			return err
		}
	}
	return nil
}
