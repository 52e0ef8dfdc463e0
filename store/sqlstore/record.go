package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
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
	next, err := s.ChangeRecords(ctx, []store.RecordChange{{Key: k, Value: value, Revision: revision}}, f)
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// DropRecord implements [store.Records].
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	_, err := s.ChangeRecords(ctx, []store.RecordChange{{Key: k, Drop: true, Revision: revision}}, f)
	return err
}

// Batches implements [store.RecordBatcher].
func (s *Store) Batches(r store.Records) bool { return r == store.Records(s) }

// ChangeRecords implements [store.RecordBatcher], in one transaction.
func (s *Store) ChangeRecords(ctx context.Context, changes []store.RecordChange, f store.Fence) ([]int64, error) {
	if err := cmp.Or(store.CheckChanges(changes, f), ctx.Err()); err != nil {
		return nil, err
	}
	next, at := make([]int64, len(changes)), changes[0].Key
	err := s.within(ctx, func(tx *sql.Tx) error {
		if err := s.fenced(ctx, tx, f); err != nil {
			return err
		}
		for _, c := range changes {
			if at = c.Key; c.IfEmpty == "" {
				continue
			}
			if err := s.empty(ctx, tx, c.Key, c.IfEmpty); err != nil {
				return err
			}
		}
		for _, i := range inOrder(changes) {
			c := changes[i]
			var err error
			if at = c.Key; c.Drop {
				err = s.drop(ctx, tx, c)
			} else {
				next[i], err = s.put(ctx, tx, c)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fail(at, err)
	}
	return next, nil
}

// inOrder returns the places of changes in the order of their records, so that two
// transactions never wait for each other's.
func inOrder(changes []store.RecordChange) []int {
	order := make([]int, len(changes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(changes[a].Key.Kind, changes[b].Key.Kind), cmp.Compare(changes[a].Key.Name, changes[b].Key.Name))
	})
	return order
}

// put changes or makes a record, and returns its revision.
func (s *Store) put(ctx context.Context, tx *sql.Tx, c store.RecordChange) (next int64, err error) {
	if next, err = s.revision(ctx, tx); err != nil {
		return 0, err
	}
	value := c.Value
	if value == nil {
		value = []byte{} // not null
	}
	var n int64
	if c.Revision == 0 {
		n, err = s.change(ctx, tx, "insert into claude_records (project, kind, name, revision, value) values (?, ?, ?, ?, ?) on conflict do nothing", c.Key.Project, c.Key.Kind, c.Key.Name, next, value)
	} else {
		n, err = s.change(ctx, tx, "update claude_records set revision = ?, value = ? where project = ? and kind = ? and name = ? and revision = ?", next, value, c.Key.Project, c.Key.Kind, c.Key.Name, c.Revision)
	}
	if err == nil && n == 0 {
		err = store.ErrConflict
	}
	return next, err
}

// empty returns ErrConflict if a folder has records of the kind of k.
func (s *Store) empty(ctx context.Context, tx *sql.Tx, k store.RecordKey, folder string) error {
	var other bool
	begin, end := below(folder)
	err := s.row(ctx, tx, "select exists (select 1 from claude_records where project = ? and kind = ? and name > ? and name < ? and substr(name, ?) not like '%/%')",
		k.Project, k.Kind, begin, end, len(begin)+1).Scan(&other)
	if err == nil && other {
		err = store.ErrConflict
	}
	return err
}

// drop removes a record.
func (s *Store) drop(ctx context.Context, tx *sql.Tx, c store.RecordChange) error {
	k := c.Key
	n, err := s.change(ctx, tx, "delete from claude_records where project = ? and kind = ? and name = ? and revision = ?", k.Project, k.Kind, k.Name, c.Revision)
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

// Views implements [store.RecordViewer].
func (s *Store) Views(r store.Records) bool { return r == store.Records(s) }

// ViewRecords implements [store.RecordViewer], in one statement: it sees one moment, in
// SQLite and in Postgres.
func (s *Store) ViewRecords(ctx context.Context, keys, folders []store.RecordKey) ([]store.Record, error) {
	if err := cmp.Or(store.CheckView(keys, folders), ctx.Err()); err != nil {
		return nil, err
	}
	const one = "select kind, name, revision, value from claude_records where project = ? and kind = ? and "
	var parts []string
	var args []any
	for _, k := range keys {
		parts, args = append(parts, one+"name = ?"), append(args, k.Project, k.Kind, k.Name)
	}
	for _, k := range folders {
		begin, end := below(k.Name)
		parts, args = append(parts, one+"name > ? and name < ?"), append(args, k.Project, k.Kind, begin, end)
	}
	rows, err := s.db.QueryContext(ctx, s.d.sql("select * from ("+strings.Join(parts, " union all ")+") as viewed limit ?"), append(args, store.MaxViewed+1)...)
	if err != nil {
		return nil, fail(name("view"), err)
	}
	defer rows.Close()
	var all []store.Record
	size := 0
	for rows.Next() {
		r := store.Record{Key: store.RecordKey{Project: slices.Concat(keys, folders)[0].Project}}
		if err := rows.Scan(&r.Key.Kind, &r.Key.Name, &r.Revision, &r.Value); err != nil {
			return nil, fail(name("view"), err)
		}
		all = append(all, r)
		if size += len(r.Value); len(all) > store.MaxViewed || size > store.MaxViewedBytes {
			return nil, fail(name("view"), fmt.Errorf("%w: it is larger than %d records or %d bytes", errors.ErrUnsupported, store.MaxViewed, store.MaxViewedBytes))
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fail(name("view"), err)
	}
	return store.SortView(all), nil
}

// Scan implements [store.Records].
func (s *Store) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(f.Check(), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		from, to := f.Between(after)
		s.scan(ctx, f.Project, f.Kind, from, cmp.Or(to, afterAll), yield)
	}
}

// afterAll is behind all names, which are made of ASCII characters.
const afterAll = "\x7f"

// below returns the bounds of the names in a folder, which are between them.
func below(folder string) (begin, end string) { return folder + "/", folder + "0" } // which follows the slash

// scan yields the records with names between two, page by page.
func (s *Store) scan(ctx context.Context, project, kind, after, before string, yield func(store.Record, error) bool) {
	for {
		page, more, err := s.records(ctx, project, kind, after, before)
		if err != nil {
			yield(store.Record{}, fail(name(project+"/"+kind), err))
			return
		}
		for _, r := range page {
			if !yield(r, nil) {
				return
			}
			after = r.Key.Name
		}
		if !more {
			return
		}
	}
}

// records reads a page, and reports whether there may be another. A record may
// take a mebibyte, so a page holds only a few.
func (s *Store) records(ctx context.Context, project, kind, after, before string) (page []store.Record, more bool, err error) {
	rows, err := s.db.QueryContext(ctx, s.d.sql("select name, revision, value from claude_records where project = ? and kind = ? and name > ? and name < ? order by name limit ?"), project, kind, after, before, pageRows)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	size := 0
	for size < pageBytes && rows.Next() {
		r := store.Record{Key: store.RecordKey{Project: project, Kind: kind}}
		if err := rows.Scan(&r.Key.Name, &r.Revision, &r.Value); err != nil {
			return nil, false, err
		}
		page = append(page, r)
		size += len(r.Value)
	}
	return page, size >= pageBytes || len(page) == pageRows, rows.Err()
}

// Now implements [store.Records].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var us int64
	if err := s.row(ctx, s.db, "select {now}").Scan(&us); err != nil {
		return time.Time{}, fail(name("clock"), err)
	}
	return fromMicro(us), nil
}
