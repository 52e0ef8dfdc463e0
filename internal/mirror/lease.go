package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/store"
)

// leases holds the leases that the mirror has acquired, by session.
type leases struct {
	store store.Leases
	cfg   *Config

	mu    sync.Mutex
	none  bool // the store has no leases
	held  map[string]*lease.Held
	doubt map[string]time.Time // when an attempt has failed that may have succeeded
}

func newLeases(s store.Leases, cfg *Config) *leases {
	return &leases{store: s, cfg: cfg, held: make(map[string]*lease.Held), doubt: make(map[string]time.Time)}
}

// fence returns the fence of a session's lease, which is acquired if it is the
// first time. It is zero if the store has no leases.
func (l *leases) fence(ctx context.Context, session string) (store.Fence, error) {
	l.mu.Lock()
	h, none := l.held[session], l.none
	l.mu.Unlock()
	switch {
	case none:
		return store.Fence{}, nil
	case h != nil:
		return h.Fence, nil
	}
	h, err := lease.Acquire(ctx, l.store, l.cfg.Project, session, l.cfg.Owner, l.cfg.TTL)
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, errors.ErrUnsupported) {
		l.none = true
		l.cfg.Log.Warn("the store has no leases: nothing keeps another process from writing to the same session")
		return store.Fence{}, nil
	}
	if err != nil {
		return store.Fence{}, l.refused(session, err)
	}
	l.held[session] = h
	delete(l.doubt, session)
	return h.Fence, nil
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
func (l *leases) all() []*lease.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.held))
}

// renewAll renews the leases in time, until ctx ends. It calls renewed after each
// round, and lost for one that is gone.
func (l *leases) renewAll(ctx context.Context, renewed func(), lost func(error)) {
	t := time.NewTicker(lease.Period(l.cfg.TTL, nil))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		var failed error
		for _, h := range l.all() {
			err := h.Renew(ctx)
			if errors.Is(err, store.ErrLeaseLost) {
				lost(err)
				return
			}
			if err != nil && ctx.Err() == nil {
				l.cfg.Log.Warn("a lease could not be renewed", "lease", h.Name, "error", err)
				failed = err
			}
		}
		renewed()
		t.Reset(lease.Period(l.cfg.TTL, failed))
	}
}

// sure reports whether every lease is ours without a doubt.
func (l *leases) sure() bool {
	return !slices.ContainsFunc(l.all(), func(h *lease.Held) bool { return !h.Sure() })
}

// releaseAll releases the leases.
func (l *leases) releaseAll(log *slog.Logger) {
	for _, h := range l.all() {
		if err := h.Release(context.Background()); err != nil {
			log.Warn("a lease could not be given back, it will expire", "lease", h.Name, "error", err)
		}
	}
}
