package natsfleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/store"
)

// sideStore is the archive beside the stream, which is written under the same leases. A
// lease is taken in both: first in the stream, which decides who may try, then in
// the side store, and the epoch that begins last names the side store's token. So the
// owner of the epoch also has the side store's lease, and one that was replaced can
// write to neither. An owner that dies between the steps leaves leases that expire.
//
// An archive is written only now and then, so its lease is taken for a write, and by the
// successor of an owner that had it and may still write. A store that has all transcripts
// is always leased: see [store.Join].
//
// The methods of a nil sideStore do nothing.
type sideStore struct{ store.Sessions }

// needed reports whether the lease must be taken in the side store, after an epoch.
func (p *sideStore) needed(was *stored, both bool) bool {
	return p != nil && (both || was != nil && epochOf(was).Other != 0)
}

// acquire takes the lease in the side store, and returns its token.
func (p *sideStore) acquire(ctx context.Context, l store.Lease) (token int64, err error) {
	other, err := p.Sessions.Acquire(ctx, l.Project, l.Name, l.Owner, l.TTL)
	return other.Token, err
}

// of is a lease as the side store knows it.
func (p *sideStore) of(l store.Lease, token int64) store.Lease {
	l.Token = token
	return l
}

// renew renews the lease in the side store, if there is one.
func (p *sideStore) renew(ctx context.Context, l store.Lease, token int64) error {
	if p == nil || token == 0 {
		return nil
	}
	return p.Sessions.Renew(ctx, p.of(l, token))
}

// release gives the lease in the side store back, if there is one.
func (p *sideStore) release(ctx context.Context, l store.Lease, token int64) error {
	if p == nil || token == 0 {
		return nil
	}
	return p.Sessions.Release(ctx, p.of(l, token))
}

// other returns the fence in the side store that belongs to one in the stream.
func (s *leases) other(ctx context.Context, f store.Fence) (store.Fence, error) {
	if f.IsZero() {
		return f, nil
	}
	s.mu.Lock()
	h := s.held[f]
	s.mu.Unlock()
	if h.other == 0 {
		e, err := s.epoch(ctx, f)
		if err != nil {
			return f, err
		}
		h.other = e.Other
	}
	if h.other == 0 {
		return f, store.ErrLeaseLost
	}
	f.Token = h.other
	return f, nil
}

// epoch reads the epoch of a fence that this process has not acquired.
func (s *leases) epoch(ctx context.Context, f store.Fence) (e epoch, err error) {
	guard, unlock, err := s.fenced(ctx, f)
	if err != nil {
		return e, err
	}
	defer unlock()
	_, err = s.write(ctx, s.guardMessage(guard, f)) // only the server knows for sure
	if errors.Is(err, errMoved) {
		err = store.ErrLeaseLost
	}
	if err != nil {
		return e, err
	}
	err = s.withRetry(ctx, attemptBound, func(ctx context.Context) error {
		m, err := s.last(ctx, guard)
		switch {
		case err != nil:
			return err
		case m == nil || m.seq < uint64(f.Token):
			return errStale
		case m.seq > uint64(f.Token):
			return store.ErrLeaseLost
		}
		e = epochOf(m)
		return nil
	})
	return e, err
}
