package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/store"
)

// owned is a lease that this process has, such as that of a conversation that is
// awake here. It is renewed until it is released.
type owned struct {
	*lease.Held
	lost  chan struct{} // closed when another process may own the conversation
	lose  func()        // closes it
	limit *time.Timer   // loses it when it was not renewed for too long
	stop  context.CancelFunc
	done  chan struct{} // closed when the renewals have ended
}

// own takes the lease of a conversation. If another process has it, the error is
// a [*store.HeldError].
func (f *Fleet) own(ctx context.Context, key string) (*owned, error) {
	return f.ownNamed(ctx, leaseName(place(key)))
}

// owning does something under the lease of a conversation that nobody runs, and gives
// the lease back.
func (f *Fleet) owning(ctx context.Context, key string, do func(*owned) error) error {
	lease, err := f.own(ctx, key)
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), askBound)
		defer cancel()
		if err := lease.release(bounded); err != nil {
			f.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", key, "error", err)
		}
	}()
	return do(lease)
}

// ownNamed takes a lease by its name.
func (f *Fleet) ownNamed(ctx context.Context, name string) (*owned, error) {
	l, err := lease.Acquire(ctx, f.store, f.opts.Project, name, f.opts.Owner, f.opts.TTL)
	if err != nil {
		return nil, err
	}
	o := &owned{Held: l, lost: make(chan struct{}), done: make(chan struct{})}
	o.lose = sync.OnceFunc(func() { close(o.lost) })
	o.limit = time.AfterFunc(o.Left(), o.lose) // even if a renewal hangs
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	go o.renew(ctx)
	return o, nil
}

// renew renews the lease until ctx ends. When it is not surely ours, it counts as
// lost.
func (o *owned) renew(ctx context.Context) {
	defer close(o.done)
	for err := error(nil); pause(ctx, lease.Period(o.TTL, err)); {
		if err = o.Renew(ctx); ctx.Err() != nil {
			return
		}
		if err != nil && (errors.Is(err, store.ErrLeaseLost) || !o.Sure()) {
			o.lose()
			return
		}
		o.limit.Reset(o.Left())
	}
}

// guard is the hook that lets no tool begin while it is in doubt who owns the
// conversation. A fence keeps a process that has lost the lease from writing to
// the store, but not from writing anywhere else. A process that is suspended
// answers no hook. Without a gate, which does so when it lets a call go, it also
// writes the call down.
func (w *waking) guard(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if !w.lease.Sure() {
		return hook.DenyTool("This conversation may be run by another process now. The call was not made."), nil
	}
	return nil, nil
}

// release is asked last about a call that nothing objects to. It writes the call down.
func (w *waking) release(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if out, err := w.guard(ctx, in); out != nil || err != nil {
		return out, err
	}
	return nil, w.letGo(ctx, in)
}

// isLost reports whether the lease is lost, or was in doubt.
func (o *owned) isLost() bool {
	select {
	case <-o.lost:
		return true
	default:
		return false
	}
}

// release gives the lease back, when nothing more is written under it. Of one that
// was in doubt the store knows whether another process has it; if so, there is
// nothing to give back.
func (o *owned) release(ctx context.Context) error {
	o.stop()
	<-o.done
	o.limit.Stop()
	if o.isLost() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), doubtBound)
		defer cancel()
		if err := o.Renew(bounded); errors.Is(err, store.ErrLeaseLost) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return o.Release(ctx)
}

// doubtBound is how long the store may take to say whose a lease is.
const doubtBound = 2 * time.Second
