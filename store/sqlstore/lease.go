package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// fenced wants a fence to be that of the current lease, and keeps the lease so
// until the transaction ends. A lease that was released ends at 0.
func (s *Store) fenced(ctx context.Context, tx *sql.Tx, f store.Fence) error {
	if f.IsZero() {
		return nil
	}
	var token, ends int64
	err := s.row(ctx, tx, "select token, ends from claude_leases where project = ? and name = ? {share}", f.Project, f.Name).Scan(&token, &ends)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (token != f.Token || ends == 0) {
		return store.ErrLeaseLost
	}
	return err
}

// lockLease locks a lease until the transaction ends, and makes it if there is
// none. A time read afterwards is one after the wait for the lock.
func (s *Store) lockLease(ctx context.Context, tx *sql.Tx, f store.Fence) (l leased, err error) {
	if _, err := s.change(ctx, tx, "insert into claude_leases (project, name, owner, token, ends) values (?, ?, '', 0, 0) on conflict do nothing", f.Project, f.Name); err != nil {
		return l, err
	}
	if err := s.row(ctx, tx, "select owner, token, ends from claude_leases where project = ? and name = ? {update}", f.Project, f.Name).Scan(&l.owner, &l.token, &l.ends); err != nil {
		return l, err
	}
	err = s.row(ctx, tx, "select {now}").Scan(&l.now)
	return l, err
}

// leased is a lease, and the time.
type leased struct {
	owner            string
	token, ends, now int64
}

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, project, lease, owner string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(storeimpl.CheckAcquire(project, lease, owner, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	out := store.Lease{Fence: store.Fence{Project: project, Name: lease}, Owner: owner, TTL: ttl}
	var held *store.HeldError
	err := s.within(ctx, func(tx *sql.Tx) error {
		l, err := s.lockLease(ctx, tx, out.Fence)
		if err != nil {
			return err
		}
		if left := l.ends - l.now; left > 0 {
			held = &store.HeldError{Name: lease, Owner: l.owner, For: time.Duration(left) * time.Microsecond}
			return nil
		}
		out.Token = l.token + 1
		_, err = s.change(ctx, tx, "update claude_leases set owner = ?, token = ?, ends = ? where project = ? and name = ?", owner, out.Token, l.now+ttl.Microseconds(), project, lease)
		return err
	})
	if err != nil {
		return store.Lease{}, fail(name(lease), err)
	}
	if held != nil {
		return store.Lease{}, held
	}
	return out, nil
}

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(storeimpl.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	return fail(name(l.Name), s.within(ctx, func(tx *sql.Tx) error {
		return s.setEnd(ctx, tx, l, func(now int64) int64 { return now + l.TTL.Microseconds() })
	}))
}

// Release implements [store.Leases].
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	err := s.write(ctx, l.Project, func(tx *sql.Tx) ([]change, error) {
		return []change{{what: store.Changed{Released: l.Name, By: l.Fence}}}, s.setEnd(ctx, tx, l, func(int64) int64 { return 0 })
	})
	if errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	return fail(name(l.Name), err)
}

// setEnd changes when a lease ends, if it is the current one.
func (s *Store) setEnd(ctx context.Context, tx *sql.Tx, l store.Lease, end func(now int64) int64) error {
	now, err := s.lockLease(ctx, tx, l.Fence)
	if err != nil {
		return err
	}
	if now.token != l.Token || now.ends == 0 {
		return store.ErrLeaseLost
	}
	_, err = s.change(ctx, tx, "update claude_leases set ends = ? where project = ? and name = ?", end(now.now), l.Project, l.Name)
	return err
}
