// Package lease keeps leases of a store alive, and knows when one is in doubt.
package lease

import (
	"context"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// releaseBound is how long giving back a lease may take.
const releaseBound = 2 * time.Second

// Held is a lease that was acquired here. Its methods may be called from any
// goroutine.
type Held struct {
	store.Lease
	leaser store.Leases

	now func() reading

	mu    sync.Mutex
	since reading // before the last call that has acquired or renewed it
}

// reading is a pair of times, from two clocks. While a machine is suspended one of them may
// stand still, and the wall clock can be set.
type reading struct {
	monotonic time.Duration
	wall      time.Time
}

// clocks returns a function that reads both clocks.
func clocks() func() reading {
	begin := time.Now()
	return func() reading {
		now := time.Now()
		return reading{now.Sub(begin), now.Round(0)}
	}
}

// elapsed is the time since an earlier reading, by the clock that shows more.
func (r reading) elapsed(since reading) time.Duration {
	return max(r.monotonic-since.monotonic, r.wall.Sub(since.wall))
}

// Acquire takes a lease. If it has another owner, the error is a
// [*store.HeldError].
func Acquire(ctx context.Context, s store.Leases, project, name, owner string, ttl time.Duration) (*Held, error) {
	return acquire(ctx, s, project, name, owner, ttl, clocks())
}

// acquire is Acquire with clocks.
func acquire(ctx context.Context, s store.Leases, project, name, owner string, ttl time.Duration, now func() reading) (*Held, error) {
	begin := now()
	l, err := s.Acquire(ctx, project, name, owner, ttl)
	if err != nil {
		return nil, err
	}
	return &Held{Lease: l, leaser: s, now: now, since: begin}, nil
}

// Period is how long after the last renewal to renew a lease with a time to
// live: three times in that time, and more often when the last attempt has
// failed.
func Period(ttl time.Duration, failed error) time.Duration {
	if failed != nil {
		return ttl / 10
	}
	return ttl / 3
}

// Renew renews the lease, in bounded time. [store.ErrLeaseLost] means that it has
// another owner; after any other error it may be tried again.
func (h *Held) Renew(ctx context.Context) error {
	begin := h.now()
	ctx, cancel := context.WithTimeout(ctx, h.TTL/3)
	defer cancel()
	if err := h.leaser.Renew(ctx, h.Lease); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = begin
	return nil
}

// Sure reports whether the lease is ours without a doubt.
func (h *Held) Sure() bool { return h.Left() > 0 }

// Left is for how long the lease is ours without a doubt, unless it is renewed: nine
// tenths of its time.
func (h *Held) Left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.TTL - h.TTL/10 - h.now().elapsed(h.since)
}

// Release releases the lease, in bounded time even if ctx has ended. Nothing may
// be written under it any more.
func (h *Held) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	return h.leaser.Release(ctx, h.Lease)
}
