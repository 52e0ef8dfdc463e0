package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// GetRecord implements [store.Records].
func (s *Store) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return store.Record{}, err
	}
	r := store.Record{Key: k}
	err := s.row(ctx, s.db, "select revision, value from claude_records where project = ? and kind = ? and name = ?", k.Project, k.Kind, k.Name).Scan(&r.Revision, &r.Value)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Record{}, fail(k, err)
	}
	return r, nil
}

// PutRecord implements [store.Records].
func (s *Store) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	if err := cmp.Or(store.CheckPut(k, value, revision, f), ctx.Err()); err != nil {
		return 0, err
	}
	if value == nil {
		value = []byte{} // not null
	}
	var next int64
	err := s.within(ctx, func(tx *sql.Tx) error {
		if err := s.fenced(ctx, tx, f); err != nil {
			return err
		}
		var err error
		if next, err = s.revision(ctx, tx); err != nil {
			return err
		}
		var n int64
		if revision == 0 {
			n, err = s.change(ctx, tx, "insert into claude_records (project, kind, name, revision, value) values (?, ?, ?, ?, ?) on conflict do nothing", k.Project, k.Kind, k.Name, next, value)
		} else {
			n, err = s.change(ctx, tx, "update claude_records set revision = ?, value = ? where project = ? and kind = ? and name = ? and revision = ?", next, value, k.Project, k.Kind, k.Name, revision)
		}
		if err == nil && n == 0 {
			err = store.ErrConflict
		}
		return err
	})
	if err != nil {
		return 0, fail(k, err)
	}
	return next, nil
}

// revision returns a number that was never used before.
func (s *Store) revision(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	if s.d.postgres { // which lets others count on while this is not committed
		err = s.row(ctx, tx, "select nextval('claude_revisions')").Scan(&n)
		return n, err
	}
	err = s.row(ctx, tx, "update claude_revisions set n = n + 1 returning n").Scan(&n)
	return n, err
}

// DropRecord implements [store.Records].
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	if err := cmp.Or(store.CheckDrop(k, revision, f), ctx.Err()); err != nil {
		return err
	}
	return fail(k, s.within(ctx, func(tx *sql.Tx) error {
		if err := s.fenced(ctx, tx, f); err != nil {
			return err
		}
		n, err := s.change(ctx, tx, "delete from claude_records where project = ? and kind = ? and name = ? and revision = ?", k.Project, k.Kind, k.Name, revision)
		if err != nil || n > 0 {
			return err
		}
		var there bool
		if err := s.row(ctx, tx, "select exists (select 1 from claude_records where project = ? and kind = ? and name = ?)", k.Project, k.Kind, k.Name).Scan(&there); err != nil {
			return err
		}
		if there {
			return store.ErrConflict
		}
		return store.ErrNotFound
	}))
}

// ScanRecords implements [store.Records].
func (s *Store) ScanRecords(ctx context.Context, project, kind, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(store.CheckScan(project, kind), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		for {
			page, err := s.records(ctx, project, kind, after)
			if err != nil {
				yield(store.Record{}, fail(name(project+"/"+kind), err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
				after = r.Key.Name
			}
		}
	}
}

// records reads a page. A record may be a mebibyte, so a page is a few of them.
func (s *Store) records(ctx context.Context, project, kind, after string) ([]store.Record, error) {
	rows, err := s.db.QueryContext(ctx, s.d.sql("select name, revision, value from claude_records where project = ? and kind = ? and name > ? order by name limit ?"), project, kind, after, pageRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []store.Record
	size := 0
	for size < pageBytes && rows.Next() {
		r := store.Record{Key: store.RecordKey{Project: project, Kind: kind}}
		if err := rows.Scan(&r.Key.Name, &r.Revision, &r.Value); err != nil {
			return nil, err
		}
		page = append(page, r)
		size += len(r.Value)
	}
	return page, rows.Err()
}

// Now implements [store.Records].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var us int64
	if err := s.row(ctx, s.db, "select {now}").Scan(&us); err != nil {
		return time.Time{}, fail(name("clock"), err)
	}
	return fromMicro(us), nil
}
