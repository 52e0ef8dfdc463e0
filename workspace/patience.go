package workspace

import (
	"context"
	"fmt"
	"time"
)

// patience ends a git that does nothing for too long. Only the time in which git is waited
// for counts: how long a pack takes on its way to or from the chunks depends on its size and
// on the network, and has the bound of the Save or the Open.
type patience struct {
	bound time.Duration
	alarm alarm
}

// alarm is the part of [time.Timer] that patience needs.
type alarm interface {
	Reset(time.Duration) bool
	Stop() bool
}

func timeAlarm(d time.Duration, ring func()) alarm { return time.AfterFunc(d, ring) }

// patient returns a context that ends if git keeps its caller waiting for Timeout. It begins
// with git.
func (w *Worktrees) patient(ctx context.Context) (context.Context, *patience, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	bound := w.o.Timeout
	p := &patience{bound, w.alarm(bound, func() { cancel(fmt.Errorf("it did nothing for %v: %w", bound, context.DeadlineExceeded)) })}
	return ctx, p, func() { p.rest(); cancel(nil) }
}

// git begins to wait for git.
func (p *patience) git() { p.alarm.Reset(p.bound) }

// rest means that git has done something, and waits for its caller.
func (p *patience) rest() { p.alarm.Stop() }
