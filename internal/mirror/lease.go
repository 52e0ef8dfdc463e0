package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// releaseBound is how long giving back a lease may take.
const releaseBound = 2 * time.Second

// leases are those that the mirror has acquired, by session.
type leases struct {
	store store.Leaser
	cfg   *Config

	mu    sync.Mutex
	held  map[string]*held
	doubt map[string]time.Time // when an attempt has failed that may have succeeded
}

// held is a lease.
type held struct {
	lease store.Lease
	since time.Time // before the last call that has acquired or renewed it
}

func newLeases(s store.Leaser, cfg *Config) *leases {
	return &leases{store: s, cfg: cfg, held: make(map[string]*held), doubt: make(map[string]time.Time)}
}

// fence returns the fence of a session's lease, which is acquired if it is the
// first time.
func (l *leases) fence(ctx context.Context, session string) (store.Fence, error) {
	l.mu.Lock()
	h := l.held[session]
	l.mu.Unlock()
	if h != nil {
		return h.lease.Fence, nil
	}
	begin := time.Now()
	lease, err := l.store.Acquire(ctx, l.cfg.Project, session, l.cfg.Owner, l.cfg.TTL)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return store.Fence{}, l.refused(session, err)
	}
	l.held[session] = &held{lease, begin}
	delete(l.doubt, session)
	return lease.Fence, nil
}

// refused returns the error of an attempt to acquire a lease. If the reply to an
// earlier attempt was lost, the owner may be this mirror. The session need not end:
// the lease will expire. The lock is held.
func (l *leases) refused(session string, err error) error {
	other, ok := errors.AsType[*store.HeldError](err)
	if !ok {
		l.doubt[session] = time.Now()
		return err
	}
	since, doubtful := l.doubt[session]
	if doubtful && other.Owner == l.cfg.Owner && time.Since(since) < 2*l.cfg.TTL+callBound {
		return fmt.Errorf("an earlier attempt to acquire the lease may have succeeded, it expires in %v", other.For)
	}
	return err
}

// all returns the leases that are held.
func (l *leases) all() []*held {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*held
	for _, h := range l.held {
		all = append(all, h)
	}
	return all
}

// renewAll renews the leases three times in their time to live, and more often
// when that fails, until ctx ends. It calls renewed after each round, and lost
// for one that is gone.
func (l *leases) renewAll(ctx context.Context, renewed func(), lost func(error)) {
	t := time.NewTicker(l.cfg.TTL / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		period := l.cfg.TTL / 3
		for _, h := range l.all() {
			err := l.renew(ctx, h)
			if errors.Is(err, store.ErrLeaseLost) {
				lost(err)
				return
			}
			if err != nil && ctx.Err() == nil {
				l.cfg.Log.Warn("a lease could not be renewed", "lease", h.lease.Name, "error", err)
				period = l.cfg.TTL / 10
			}
		}
		renewed()
		t.Reset(period)
	}
}

func (l *leases) renew(ctx context.Context, h *held) error {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, max(l.cfg.TTL/3, time.Second))
	defer cancel()
	if err := l.store.Renew(ctx, h.lease); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h.since = begin
	return nil
}

// sure reports whether every lease is ours without a doubt. The time since the
// last renewal is that of the clock which shows more: one of them may have stood
// still while the machine did.
func (l *leases) sure() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, h := range l.held {
		elapsed := max(now.Sub(h.since), now.Round(0).Sub(h.since.Round(0)))
		if elapsed >= l.cfg.TTL-l.cfg.TTL/10 {
			return false
		}
	}
	return true
}

// releaseAll gives the leases back.
func (l *leases) releaseAll(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseBound)
	defer cancel()
	for _, h := range l.all() {
		if err := l.store.Release(ctx, h.lease); err != nil {
			log.Warn("a lease could not be given back, it will expire", "lease", h.lease.Name, "error", err)
		}
	}
}
