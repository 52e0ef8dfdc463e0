package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/store"
)

// owned is a lease that this process holds, such as that of a conversation that is
// awake here. It is renewed until it is released.
type owned struct {
	*lease.Held
	lost  chan struct{} // closed when another process may own the conversation
	lose  func()        // closes it
	limit *time.Timer   // loses it when it was not renewed in time
	stop  context.CancelFunc
	done  chan struct{} // closed when the renewals have ended
}

// leases takes leases for this process.
type leases struct {
	store *announcer
	opts  *Options
	ear   *ear
}

// own takes the lease of a conversation. If another process holds it, the error is a
// [*store.HeldError].
func (ls *leases) own(ctx context.Context, key string) (*owned, error) {
	return ls.ownNamed(ctx, leaseName(place(key)))
}

// owning calls do under the lease of a conversation that no process runs, and gives the
// lease back.
func (ls *leases) owning(ctx context.Context, key string, do func(*owned) error) error {
	lease, err := ls.own(ctx, key)
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(outlasting(ctx), askBound)
		defer cancel()
		if err := lease.release(bounded); err != nil {
			ls.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", key, "error", err)
		}
	}()
	return do(lease)
}

// free reports whether no process has the lease of a conversation. If the store cannot
// tell, one may have it.
func (ls *leases) free(ctx context.Context, key string) bool {
	ctx, cancel := context.WithTimeout(ctx, min(replyBound, ls.opts.StoreTimeout))
	defer cancel()
	return ls.owning(ctx, key, func(*owned) error { return nil }) == nil
}

// ownNamed takes a lease by its name.
func (ls *leases) ownNamed(ctx context.Context, name string) (*owned, error) {
	l, err := lease.Acquire(ctx, ls.store, ls.opts.Project, name, ls.opts.Owner, ls.opts.TTL)
	if err != nil {
		return nil, err
	}
	o := &owned{Held: l, lost: make(chan struct{}), done: make(chan struct{})}
	o.lose = sync.OnceFunc(func() { close(o.lost) })
	o.limit = time.AfterFunc(o.Left(), o.lose) // even if a renewal hangs
	ctx, o.stop = context.WithCancel(outlasting(ctx))
	go o.renew(ctx)
	return o, nil
}

// renew renews the lease until ctx ends. When it may have expired, it counts as lost.
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

// isLost reports whether the lease is lost, or was in doubt.
func (o *owned) isLost() bool {
	select {
	case <-o.lost:
		return true
	default:
		return false
	}
}

// release gives the lease back, when nothing more is written under it. If the lease was
// in doubt, the store is asked first: when another process holds it, there is nothing
// to give back.
func (o *owned) release(ctx context.Context) error {
	o.stop()
	<-o.done
	o.limit.Stop()
	if o.isLost() {
		bounded, cancel := context.WithTimeout(outlasting(ctx), doubtBound)
		defer cancel()
		if err := o.Renew(bounded); errors.Is(err, store.ErrLeaseLost) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return o.Release(ctx)
}

// doubtBound is how long the store may take to name the owner of a lease.
const doubtBound = 2 * time.Second

// askAgain is how long to wait before asking again for a lease that another process
// holds: until it expires unless renewed, but not longer than the time between two
// polls.
func (ls *leases) askAgain(held *store.HeldError) time.Duration {
	return comeBack(min(held.For, ls.ear.pollEvery()), ls.opts.TTL)
}

// askForLease returns when to ask again for a lease, 0 if it is free.
func (ls *leases) askForLease(ctx context.Context, key string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	lease, err := ls.own(ctx, key)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return ls.askAgain(held)
	}
	if err != nil {
		return retryAfter
	}
	if err := lease.release(ctx); err != nil {
		ls.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", key, "error", err)
	}
	return 0
}

// giveBack gives a lease back, or lets it expire.
func (ls *leases) giveBack(ctx context.Context, o *owned) {
	if err := o.release(ctx); err != nil {
		ls.opts.Logger.Warn("a lease could not be given back, it will expire", "lease", o.Name, "error", err)
	}
}

// askBound is how long the store may take to answer whether a lease is free.
const askBound = 10 * time.Second

// comeBack is when to try again to take a lease that another process holds: when it may
// have expired, with a jitter, so that not all processes try in the same moment.
func comeBack(left, ttl time.Duration) time.Duration {
	return min(max(left, time.Millisecond), ttl) + rand.N(ttl/30)
}

// retryAfter is how long a conversation rests after a failure.
const retryAfter = time.Second
