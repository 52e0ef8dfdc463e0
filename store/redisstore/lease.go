package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(storeimpl.CheckAcquire(project, name, owner, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	l := store.Lease{Fence: store.Fence{Project: project, Name: name}, Owner: owner, TTL: ttl}
	db, err := s.client(ctx)
	if err != nil {
		return store.Lease{}, fail(name, err)
	}
	answer, err := acquireScript().Run(ctx, db, []string{s.leaseKey(project, l.Fence)}, owner, ttl.Microseconds()).Slice()
	if err != nil {
		return store.Lease{}, fail(name, err)
	}
	token, ok := answer[0].(int64)
	if !ok || len(answer) != 3 {
		return store.Lease{}, fail(name, fmt.Errorf("%w: the server answers %v", store.ErrDamaged, answer))
	}
	if l.Token = token; token > 0 {
		return l, nil
	}
	left, _ := strconv.ParseInt(fmt.Sprint(answer[2]), 10, 64) // a number: the script wrote it
	return store.Lease{}, &store.HeldError{Name: name, Owner: fmt.Sprint(answer[1]), For: time.Duration(left) * time.Microsecond}
}

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(storeimpl.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	_, err := s.run(ctx, renewScript(), []string{s.leaseKey(l.Project, l.Fence)}, token(l.Fence), l.TTL.Microseconds(), "", "")
	return fail(l.Name, err)
}

// Release implements [store.Leases].
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	released := storeimpl.Text(store.Changed{Released: l.Name, By: l.Fence})
	_, err := s.run(ctx, renewScript(), []string{s.leaseKey(l.Project, l.Fence)}, token(l.Fence), 0, s.channel(l.Project), released)
	if errors.Is(err, store.ErrLeaseLost) {
		err = nil
	}
	return fail(l.Name, err)
}
