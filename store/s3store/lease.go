package s3store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// leaseBody is a lease as it is kept. It lasts from when its object was written.
type leaseBody struct {
	Owner    string        `json:"owner"`
	Token    int64         `json:"token"`
	TTL      time.Duration `json:"ttl"`
	Released bool          `json:"released,omitempty"`
}

// second is how coarse the times of S3 are.
const second = time.Second

// left returns how long a lease that was read lasts at most.
func (l leaseBody) left(o object) time.Duration {
	if l.Released || l.Token == 0 {
		return 0
	}
	return min(l.TTL, l.TTL-(o.now.Sub(o.modified)-second))
}

func leaseName(project, name string) string {
	return project + "/leases/" + strings.ReplaceAll(name, "/", "!")
}

// readLease reads a lease; one that never was is empty.
func (s *Store) readLease(ctx context.Context, project, name string) (l leaseBody, o object, err error) {
	o, err = s.get(ctx, leaseName(project, name))
	if errors.Is(err, store.ErrNotFound) {
		return l, object{}, nil
	}
	if err == nil {
		err = read(o, &l)
	}
	return l, o, err
}

// fenced wants a fence to be that of the current lease.
func (s *Store) fenced(ctx context.Context, f store.Fence) error {
	if f.IsZero() {
		return nil
	}
	l, _, err := s.readLease(ctx, f.Project, f.Name)
	if err == nil && (l.Token != f.Token || l.Released) {
		err = store.ErrLeaseLost
	}
	return err
}

// writeLease writes a lease over the one that was read.
func (s *Store) writeLease(ctx context.Context, project, name string, l leaseBody, over object) error {
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return s.put(ctx, leaseName(project, name), body, over.etag)
}

// Acquire implements [store.Leaser].
func (s *Store) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(store.CheckAcquire(project, name, owner, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	for {
		l, o, err := s.readLease(ctx, project, name)
		if err != nil {
			return store.Lease{}, fail(name, err)
		}
		if left := l.left(o); left > 0 {
			return store.Lease{}, &store.HeldError{Name: name, Owner: l.Owner, For: left}
		}
		l = leaseBody{Owner: owner, Token: l.Token + 1, TTL: ttl}
		err = s.writeLease(ctx, project, name, l, o)
		if err == nil {
			return store.Lease{Fence: store.Fence{Project: project, Name: name, Token: l.Token}, Owner: owner, TTL: ttl}, nil
		}
		if !errors.Is(err, errTaken) {
			return store.Lease{}, fail(name, err)
		}
	}
}

// Renew implements [store.Leaser].
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	return fail(l.Name, s.changeLease(ctx, l, false))
}

// Release implements [store.Leaser].
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	if err := s.changeLease(ctx, l, true); !errors.Is(err, store.ErrLeaseLost) {
		return fail(l.Name, err)
	}
	return nil
}

// changeLease writes a lease anew if it is the current one.
func (s *Store) changeLease(ctx context.Context, l store.Lease, released bool) error {
	for {
		now, o, err := s.readLease(ctx, l.Project, l.Name)
		if err != nil {
			return err
		}
		if now.Token != l.Token || now.Released {
			return store.ErrLeaseLost
		}
		err = s.writeLease(ctx, l.Project, l.Name, leaseBody{Owner: l.Owner, Token: l.Token, TTL: l.TTL, Released: released}, o)
		if !errors.Is(err, errTaken) {
			return err
		}
	}
}
