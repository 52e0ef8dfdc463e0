package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude"
)

// idle waits, with the CLI running, until there is something to do. It returns false
// when the conversation shall sleep. Output of the CLI in the meantime, from an agent
// in the background that has ended, is read and counted.
func (w *waking) idle() (more bool) {
	if w.wanted() || w.session == nil {
		return w.wanted()
	}
	w.rest()
	ctx, cancel := context.WithCancel(w.ctx)
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

// lookAgain is how often a CLI that works in the background is checked.
const lookAgain = time.Second

// awaitWork waits until there is something to do (true), or it is time to sleep.
func (w *waking) awaitWork(ctx context.Context, s *claude.Session) bool {
	measured := time.Now()
	for {
		a := s.Activity()
		left := w.opts.IdleAfter - time.Since(a.Since)
		if !a.Idle() {
			if time.Since(measured) >= measureAgain {
				if measured = time.Now(); w.exceeds(s) {
					return false
				}
			}
			left = lookAgain
			left = min(left, w.shellsLeft(a))
		}
		if left <= 0 || a.Idle() && w.roster.pressed() {
			return false
		}
		timer := time.NewTimer(left)
		select {
		case <-w.c.wakeup:
		case <-timer.C:
		case <-s.Done():
		case <-w.closing:
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

// shellsLeft is for how long background shells may keep a CLI awake. That counts from the
// moment when nothing else did: neither a turn, nor an agent.
func (w *waking) shellsLeft(a claude.Activity) time.Duration {
	a.Shells = 0
	switch {
	case !a.Idle():
		w.shellsSince = time.Time{}
	case w.shellsSince.IsZero():
		w.shellsSince = time.Now()
	}
	if w.shellsSince.IsZero() {
		return lookAgain
	}
	return w.opts.ShellGrace - time.Since(w.shellsSince)
}

// prewarm starts the CLI of a conversation that has nothing to do, if that was asked for.
// It is left alone if anything waits, be it for a person or for a budget. The start ends
// at once when another conversation needs the slot. The caller of Prewarm gets the error:
// the next prompt starts a CLI anyway.
func (w *waking) prewarm() {
	if w.prewarmed == nil || w.session != nil || len(w.queue) > 0 || w.rec.revision == 0 || w.budgets.budget(w.ctx, &w.rec) != nil {
		w.toldPrewarmed(nil)
		return
	}
	t, err := w.asked.transcript(w.ctx, w.rec.Session)
	if err != nil || t == nil && w.rec.Session != "" { // a start without a prompt would use up another id
		w.toldPrewarmed(err)
		return
	}
	ctx, cancel := context.WithCancel(w.ctx) // which must last as long as the CLI, for whatever Options.Session has begun
	w.endStart = cancel
	started := make(chan struct{})
	go w.giveUpStart(started, cancel)
	err = w.connect(ctx, send)
	close(started)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = w.close() // it was given up
	default:
		err = errors.Join(err, w.close())
	}
	w.toldPrewarmed(err)
}

// giveUpStart cancels a start ahead of a prompt when the slot is needed, or nothing may
// begin any more.
func (w *waking) giveUpStart(started <-chan struct{}, cancel context.CancelFunc) {
	for {
		select {
		case <-started:
			return
		case <-w.stop:
		case <-w.closing:
		case <-w.lease.lost:
		case <-w.c.wakeup: // awaitWork looks again
			if !w.roster.pressed() {
				continue
			}
		}
		cancel()
		return
	}
}

// toldPrewarmed reports how a start ahead of a prompt ended, once.
func (w *waking) toldPrewarmed(err error) {
	if w.prewarmed != nil {
		w.prewarmed <- err
		w.prewarmed = nil
	}
}

// wanted reports whether there may be something to do.
func (w *waking) wanted() bool {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	return w.c.Wanted || w.c.offered != nil
}
