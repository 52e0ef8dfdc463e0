package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/store"
)

// releaseBound is how long giving back a lease may take.
const releaseBound = 5 * time.Second

// owned is the lease of a conversation that is awake here. It is renewed until
// it is released.
type owned struct {
	store.Lease
	leaser store.Leaser
	lost   chan struct{} // closed when somebody else may own the conversation
	stop   context.CancelFunc
	done   chan struct{} // closed when nobody renews it

	mu    sync.Mutex
	since time.Time // before the last call that has acquired or renewed it
}

// own takes the lease of a conversation. If somebody else has it, the error is a
// [*store.HeldError].
func (f *Fleet) own(ctx context.Context, key string) (*owned, error) {
	begin := time.Now()
	l, err := f.store.Acquire(ctx, f.opts.Project, leaseName(place(key)), f.opts.Owner, f.opts.TTL)
	if err != nil {
		return nil, err
	}
	o := &owned{Lease: l, leaser: f.store, lost: make(chan struct{}), done: make(chan struct{}), since: begin}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	go o.renew(ctx)
	return o, nil
}

// renew renews the lease three times in its time to live, and more often when
// that fails. When it is not surely ours, it counts as lost.
func (o *owned) renew(ctx context.Context) {
	defer close(o.done)
	period := o.TTL / 3
	for pause(ctx, period) {
		begin := time.Now()
		bounded, cancel := context.WithTimeout(ctx, o.TTL/3)
		err := o.leaser.Renew(bounded, o.Lease)
		cancel()
		if err == nil {
			o.mu.Lock()
			o.since = begin
			o.mu.Unlock()
			period = o.TTL / 3
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, store.ErrLeaseLost) || !o.sure() {
			close(o.lost)
			return
		}
		period = o.TTL / 10
	}
}

// sure reports whether the lease is ours without a doubt. The time since the
// last renewal is that of the clock which shows more: one of them may have stood
// still while the machine did.
func (o *owned) sure() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	elapsed := max(now.Sub(o.since), now.Round(0).Sub(o.since.Round(0)))
	return elapsed < o.TTL-o.TTL/10
}

// guard is the hook that lets no tool begin while it is in doubt who owns the
// conversation. A fence keeps one who has lost it from writing to the store, but
// not from writing anywhere else; and a process that stands still answers no
// hook.
func (o *owned) guard(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if !o.sure() {
		return hook.DenyTool("This conversation may be run by another process now. The call was not made."), nil
	}
	return nil, nil
}

// release gives the lease back, when nothing more is written under it.
func (o *owned) release(ctx context.Context) error {
	o.stop()
	<-o.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	return o.leaser.Release(ctx, o.Lease)
}
