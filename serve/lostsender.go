package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// finishAccepting records the prompts, older than an age, that the fleet has accepted
// for a process that died before it could record them itself.
func (s *logs) finishAccepting(ctx context.Context, l *eventlog.Log, age time.Duration) error {
	for _, a := range l.Undecided() {
		// Its prompt may be older than the log's memory. Recorded again, its turn would
		// count twice.
		if err := l.RecallSince(ctx, a.At); err != nil {
			return err
		}
	}
	all := l.Undecided()
	if len(all) == 0 {
		return nil
	}
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if now.Sub(a.At) < age {
			continue
		}
		_, err := s.fleet.Prompt(ctx, l.Key(), a.Prompt.ID)
		switch {
		case err == nil:
			err = l.Accepted(ctx, a.Prompt)
		case errors.Is(err, fleet.ErrUnknown) && now.Sub(a.At) >= eventlog.SettledAfter:
			err = l.Refuse(ctx, a.Sender)
		case errors.Is(err, fleet.ErrUnknown):
			err = nil // it may still come
		}
		if err != nil {
			return err
		}
	}
	return nil
}
