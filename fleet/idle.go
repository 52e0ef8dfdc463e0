package fleet

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// idle waits, with the CLI running, until there is something to do. It returns
// false when the conversation shall sleep. What the CLI says meanwhile, because
// an agent in the background has ended, is read and counted.
func (w *waking) idle() (more bool) {
	if w.wanted() || w.session == nil {
		return w.wanted()
	}
	w.rest()
	ctx, cancel := context.WithCancel(w.f.ctx)
	defer cancel()
	woken := make(chan bool, 1)
	go func() {
		woken <- w.awaitWork(ctx, w.session)
		cancel()
	}()
	w.listen(ctx)
	cancel()
	return <-woken
}

// listen reads what the CLI says by itself until ctx or the session ends.
func (w *waking) listen(ctx context.Context) {
	for m, err := range w.session.Messages(ctx) {
		if err != nil {
			return
		}
		w.see(m)
		w.f.news.publish(w.c, "", m, nil)
		if r, ok := m.(*message.Result); ok {
			if err := w.count(w.f.ctx, r, ""); err != nil {
				w.f.opts.Logger.Warn("a turn could not be counted", "conversation", w.c.key, "error", err)
			}
			if err := w.settleRest(w.f.ctx); err != nil {
				w.f.opts.Logger.Warn("questions of a turn are left open", "conversation", w.c.key, "error", err)
			}
		}
	}
}

// quietBound is how long agents in the background may keep a rewind waiting.
const quietBound = 30 * time.Second

// quiet waits until no turn runs that the CLI began by itself, and no agent works in
// the background: they change files. It returns false if that takes too long. Shell
// commands are not waited for: what they change is never taken back.
func (w *waking) quiet(ctx context.Context) bool {
	still := func() bool {
		a := w.session.Activity()
		a.Shells = 0
		return a.Idle()
	}
	if still() {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, quietBound)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !still() && pause(bounded, lookAgain) {
		}
		cancel()
	}()
	w.listen(bounded)
	cancel()
	<-ended
	return still()
}

// lookAgain is how often a CLI that works in the background is looked at.
const lookAgain = time.Second

// awaitWork waits until there is something to do (true), or it is time to sleep.
func (w *waking) awaitWork(ctx context.Context, s *claude.Session) bool {
	begin := time.Now()
	measured := begin
	for {
		a := s.Activity()
		left := w.f.opts.IdleAfter - time.Since(a.Since)
		if !a.Idle() {
			if time.Since(measured) >= measureAgain {
				if measured = time.Now(); w.exceeds(s) {
					return false
				}
			}
			left = lookAgain
			others := a
			others.Shells = 0
			if others.Idle() {
				left = min(left, w.f.opts.ShellGrace-time.Since(begin))
			}
		}
		if left <= 0 || a.Idle() && w.f.roster.pressed() {
			return false
		}
		timer := time.NewTimer(left)
		select {
		case <-w.c.wakeup:
		case <-timer.C:
		case <-s.Done():
		case <-w.f.closing:
		case <-w.lease.lost:
		case <-w.stop:
		case <-ctx.Done():
		}
		timer.Stop()
		select {
		case <-s.Done():
			return false
		default:
		}
		if w.over() || ctx.Err() != nil {
			return false
		}
		if w.wanted() {
			return true
		}
	}
}

// wanted reports whether there may be something to do.
func (w *waking) wanted() bool {
	w.f.roster.mu.Lock()
	defer w.f.roster.mu.Unlock()
	return w.c.Wanted || w.c.offered != nil
}
