package serve

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
)

// acceptance is a prompt that somebody is about to give to the fleet. It is in the
// head of the log before the fleet can accept the prompt, and until the log has the
// prompt. So after a crash in between the log still learns of it, and what it costs
// is counted.
type acceptance struct {
	Prompt Prompt    `json:"prompt"`
	At     time.Time `json:"at"`
}

// settledAfter is when the fleet has accepted a prompt that somebody was about to give
// to it, or never will: all that they do is bounded by a shorter time.
const settledAfter = 2 * lastingBound

// intend notes that a prompt is about to be given to the fleet, unless the log has it.
func (l *eventLog) intend(ctx context.Context, p Prompt) error {
	now, err := l.book.records.Now(ctx)
	if err != nil {
		return err
	}
	return l.write(ctx, func(h *logHead) ([]Event, bool) {
		delete(l.refused, p.ID)
		if _, known := l.prompts[p.ID]; known || h.accepts(p.ID) {
			return nil, false
		}
		h.Accepting = append(slices.Clone(h.Accepting), acceptance{p, now.UTC()})
		return nil, true
	})
}

// refuse notes that the fleet has not accepted a prompt. The next write takes that
// over, so a refusal costs none.
func (l *eventLog) refuse(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[id] = true
}

// accepts reports whether somebody was about to give a prompt to the fleet.
func (h *logHead) accepts(id string) bool {
	return slices.ContainsFunc(h.Accepting, func(a acceptance) bool { return a.Prompt.ID == id })
}

// settle takes the prompts out of a head about which the log now knows enough. The
// caller has the lock.
func (l *eventLog) settle(h *logHead, events []Event) {
	if len(h.Accepting) == 0 {
		return
	}
	h.Accepting = slices.DeleteFunc(slices.Clone(h.Accepting), func(a acceptance) bool {
		_, known := l.prompts[a.Prompt.ID]
		return known || l.refused[a.Prompt.ID] || slices.ContainsFunc(events, func(e Event) bool { return e.Prompt != nil && e.Prompt.ID == a.Prompt.ID })
	})
}

// undecided returns the prompts that somebody was about to give to the fleet.
func (l *eventLog) undecided() []acceptance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.head.Accepting), func(a acceptance) bool { return l.refused[a.Prompt.ID] })
}

// finishAccepting writes prompts down that the fleet has accepted, for those who
// died before they could: of all that are older than a time.
func (s *logs) finishAccepting(ctx context.Context, l *eventLog, age time.Duration) error {
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
			err = l.append(ctx, func(*logHead) []Event {
				if _, known := l.prompts[a.Prompt.ID]; known {
					return nil
				}
				return []Event{{Type: EventPrompt, Prompt: &a.Prompt}}
			})
		case errors.Is(err, fleet.ErrUnknown) && now.Sub(a.At) >= settledAfter:
			l.refuse(a.Prompt.ID)
			err = l.write(ctx, func(h *logHead) ([]Event, bool) { return nil, h.accepts(a.Prompt.ID) })
		case errors.Is(err, fleet.ErrUnknown):
			err = nil // it may come yet
		}
		if err != nil {
			return err
		}
	}
	return nil
}
