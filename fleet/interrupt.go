package fleet

import (
	"context"

	"github.com/claude-agent-go/claude"
)

// A CLI that is asked to interrupt a turn which has not begun does nothing. So one
// who interrupts a conversation whose CLI starts, or has just been given a prompt,
// leaves a word, and the turn is interrupted as soon as it begins.

// interruptNext leaves word that the turn which is about to begin here is to be
// interrupted. It reports whether one is, and whether its CLI has work to do before
// that and must be interrupted too: it makes a deferred call before the turn begins.
func (f *Fleet) interruptNext(key string) (left, works bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	if c == nil || c.begins == "" {
		return false, false
	}
	c.interrupted = c.begins
	return true, c.continues
}

// continues notes that the CLI works on a turn that it continues, even before it says
// that the turn has begun.
func (w *waking) continues() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.c.continues = true
}

// begins notes that the turn of a prompt is about to begin, until it has or done is
// called. If the attempt failed, the word stays for the next one.
func (w *waking) begins(p *queued) (done func(failed bool)) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.c.begins = p.ID
	return func(failed bool) {
		w.f.mu.Lock()
		defer w.f.mu.Unlock()
		w.c.begins, w.c.continues = "", false
		if !failed && w.c.interrupted == p.ID {
			w.c.interrupted = ""
		}
	}
}

// begun notes that the turn of a prompt has begun, and interrupts it if somebody has
// left word, until ctx ends.
func (w *waking) begun(ctx context.Context, s *claude.Session, p *queued) {
	w.f.mu.Lock()
	w.c.begins = ""
	interrupted := w.c.interrupted == p.ID
	w.f.mu.Unlock()
	if !interrupted {
		return
	}
	go func() {
		if _, err := s.Interrupt(ctx); err != nil && ctx.Err() == nil && !w.over() {
			w.f.opts.Logger.Warn("a turn was not interrupted when it began", "conversation", w.c.key, "prompt", p.ID, "error", err)
		}
	}()
}
