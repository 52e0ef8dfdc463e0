package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/store"
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

// Acquire implements [store.Leaser].
func (s *Store) Acquire(ctx context.Context, project, lease, owner string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(store.CheckAcquire(project, lease, owner, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	l := store.Lease{Fence: store.Fence{Project: project, Name: lease}, Owner: owner, TTL: ttl}
	for {
		err := s.row(ctx, s.db, `insert into claude_leases as l (project, name, owner, token, ends) values (?, ?, ?, 1, {now} + ?)
			on conflict (project, name) do update set owner = excluded.owner, token = l.token + 1, ends = {now} + ?
			where l.ends <= {now} returning token`, project, lease, owner, ttl.Microseconds(), ttl.Microseconds()).Scan(&l.Token)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return store.Lease{}, fail(name(lease), err)
		}
		held := &store.HeldError{Name: lease}
		var left int64
		if err := s.row(ctx, s.db, "select owner, ends - {now} from claude_leases where project = ? and name = ?", project, lease).Scan(&held.Owner, &left); err != nil {
			return store.Lease{}, fail(name(lease), err)
		}
		if held.For = time.Duration(left) * time.Microsecond; left > 0 {
			return store.Lease{}, held
		} // else it has expired since
	}
}

// Renew implements [store.Leaser].
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	n, err := s.change(ctx, s.db, "update claude_leases set ends = {now} + ? where project = ? and name = ? and token = ? and ends > 0", l.TTL.Microseconds(), l.Project, l.Name, l.Token)
	if err == nil && n == 0 {
		err = store.ErrLeaseLost
	}
	return fail(name(l.Name), err)
}

// Release implements [store.Leaser].
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	_, err := s.change(ctx, s.db, "update claude_leases set ends = 0 where project = ? and name = ? and token = ?", l.Project, l.Name, l.Token)
	return fail(name(l.Name), err)
}
