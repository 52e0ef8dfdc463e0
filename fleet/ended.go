package fleet

import (
	"context"
	"log/slog"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
)

// endWatch finds the conversations whose prompts have ended since it last looked. A turn
// that begins and ends between two looks at the queue never shows there; the log of
// outcomes has it, with one read for all conversations. One goroutine uses it.
type endWatch struct {
	log    *outcomelog.Log
	logger *slog.Logger

	at     int64 // the next place in the log
	begun  bool  // the place is known
	failed bool  // the last look
}

// look returns the conversations. all means that it may be any: at the first look, and
// if the log cannot be read.
func (w *endWatch) look(ctx context.Context) (keys map[string]bool, all bool) {
	keys, err := w.read(ctx)
	if err != nil && !w.failed && ctx.Err() == nil {
		w.logger.Warn("fleet: turns of other processes cannot be noticed together, so each followed conversation is read", "error", err)
	}
	w.failed = err != nil
	all = !w.begun || w.failed
	w.begun = !w.failed
	return keys, all
}

// rest makes the next look the first: nothing is followed until then.
func (w *endWatch) rest() { w.begun, w.failed = false, false }

func (w *endWatch) read(ctx context.Context) (keys map[string]bool, err error) {
	if err = w.log.Collect(ctx); err != nil {
		return nil, err
	}
	if !w.begun {
		w.at, err = w.log.End(ctx)
		return nil, err
	}
	keys = make(map[string]bool)
	for {
		entries, err := w.log.Read(ctx, w.at)
		if err != nil || len(entries) == 0 {
			return keys, err
		}
		for i := range entries {
			keys[entries[i].Key] = true
		}
		w.at += int64(len(entries))
	}
}

// lookForEnds lets the readers of conversations read the turns that have ended in other
// processes, while their announcements are not heard.
func (l *lookout) lookForEnds() {
	if l.ear.hearing() {
		return
	}
	if !l.store.followed() {
		l.ended.rest()
		return
	}
	keys, all := l.ended.look(l.ctx)
	if all {
		l.store.announceAll()
		return
	}
	l.announce(keys)
}
