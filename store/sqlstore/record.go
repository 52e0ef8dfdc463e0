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
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Change implements [store.Records], in one transaction.
func (s *Store) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	if err := cmp.Or(store.CheckChanges(changes, f), ctx.Err()); err != nil {
		return nil, err
	}
	next, at := make([]int64, len(changes)), changes[0].Key
	err := s.write(ctx, at.Project, func(tx *sql.Tx) ([]change, error) {
		if err := s.fenced(ctx, tx, f); err != nil {
			return nil, err
		}
		for _, c := range changes {
			if at = c.Key; c.IfEmpty == "" {
				continue
			}
			if err := s.empty(ctx, tx, c.Key, c.IfEmpty); err != nil {
				return nil, err
			}
		}
		var made []change
		for _, i := range inOrder(changes) {
			at = changes[i].Key
			number, err := s.make(ctx, tx, changes[i], &next[i])
			if err != nil {
				return nil, err
			}
			if !changes[i].Keep {
				made = append(made, change{store.Changed{Record: at, Revision: next[i], By: f}, number})
			}
		}
		return made, nil
	})
	if err != nil {
		return nil, fail(at, err)
	}
	return next, nil
}

// make makes one change. It sets the revision of the record, and returns the number of the
// change.
func (s *Store) make(ctx context.Context, tx *sql.Tx, c store.RecordChange, revision *int64) (number int64, err error) {
	switch {
	case c.Keep:
		*revision = c.Revision
		return 0, s.keep(ctx, tx, c)
	case c.Drop:
		return s.drop(ctx, tx, c)
	default:
		if *revision, err = s.revision(ctx, tx); err != nil {
			return 0, err
		}
		return s.put(ctx, tx, c, *revision)
	}
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

// put changes or makes a record.
func (s *Store) put(ctx context.Context, tx *sql.Tx, c store.RecordChange, next int64) (number int64, err error) {
	value := c.Value
	if value == nil {
		value = []byte{} // not null
	}
	var done bool
	if c.Revision == 0 {
		number, done, err = s.touch(ctx, tx, "insert into claude_records (project, kind, name, revision, value) values (?, ?, ?, ?, ?) on conflict do nothing", c.Key.Project, c.Key.Kind, c.Key.Name, next, value)
	} else {
		number, done, err = s.touch(ctx, tx, "update claude_records set revision = ?, value = ? where project = ? and kind = ? and name = ? and revision = ?", next, value, c.Key.Project, c.Key.Kind, c.Key.Name, c.Revision)
	}
	if err == nil && !done {
		err = store.ErrConflict
	}
	return number, err
}

// touch runs a statement that changes one record or none. Postgres numbers the change when the
// record is locked, so that the numbers of a record's changes grow in the order in which they are
// committed. Revisions do not: one may be taken long before the record is made.
func (s *Store) touch(ctx context.Context, tx *sql.Tx, text string, args ...any) (number int64, done bool, err error) {
	if !s.d.postgres {
		n, err := s.change(ctx, tx, text, args...)
		return 0, n > 0, err
	}
	err = s.row(ctx, tx, text+" returning nextval('claude_changes')", args...).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return number, err == nil, err
}

// keep returns ErrConflict unless a record has its revision, and keeps it so until the
// transaction ends.
func (s *Store) keep(ctx context.Context, tx *sql.Tx, c store.RecordChange) error {
	k, revision := c.Key, int64(0)
	if s.d.postgres && c.Revision == 0 {
		return s.keepOut(ctx, tx, k)
	}
	err := s.row(ctx, tx, "select revision from claude_records where project = ? and kind = ? and name = ? {share}", k.Project, k.Kind, k.Name).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err == nil && revision != c.Revision {
		err = store.ErrConflict
	}
	return err
}

// keepOut returns ErrConflict if there is a record, and lets others wait who want to make it. A
// record that does not exist cannot be locked, but a transaction that makes one waits for another that is
// making it.
func (s *Store) keepOut(ctx context.Context, tx *sql.Tx, k store.RecordKey) error {
	n, err := s.change(ctx, tx, "insert into claude_records (project, kind, name, revision, value) values (?, ?, ?, 0, '') on conflict do nothing", k.Project, k.Kind, k.Name)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrConflict
	}
	_, err = s.change(ctx, tx, "delete from claude_records where project = ? and kind = ? and name = ? and revision = 0", k.Project, k.Kind, k.Name)
	return err
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
func (s *Store) drop(ctx context.Context, tx *sql.Tx, c store.RecordChange) (number int64, err error) {
	k := c.Key
	number, done, err := s.touch(ctx, tx, "delete from claude_records where project = ? and kind = ? and name = ? and revision = ?", k.Project, k.Kind, k.Name, c.Revision)
	if err != nil || done {
		return number, err
	}
	var there bool
	if err := s.row(ctx, tx, "select exists (select 1 from claude_records where project = ? and kind = ? and name = ?)", k.Project, k.Kind, k.Name).Scan(&there); err != nil {
		return 0, err
	}
	if there {
		return 0, store.ErrConflict
	}
	return 0, store.ErrNotFound
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

// View implements [store.Records], in one statement: it sees one moment, and all that was
// committed before it, so Known makes no difference.
func (s *Store) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := cmp.Or(v.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	const one = "select kind, name, revision, value from claude_records where project = ? and kind = ? and "
	var parts []string
	var args []any
	project := ""
	for _, f := range apart(v) {
		if project = f.Project; f.key {
			parts, args = append(parts, one+"name = ?"), append(args, f.Project, f.Kind, f.Name)
			continue
		}
		from, to := storeimpl.Between(f.Folder, "")
		parts, args = append(parts, one+"name > ? and name < ?"), append(args, f.Project, f.Kind, from, cmp.Or(to, afterAll))
	}
	rows, err := s.db.QueryContext(ctx, s.d.sql("select * from ("+strings.Join(parts, " union all ")+") as viewed limit ?"), append(args, store.MaxViewed+1)...)
	if err != nil {
		return nil, fail(name("view"), err)
	}
	defer rows.Close()
	var all []store.Record
	size := 0
	for rows.Next() {
		r := store.Record{Key: store.RecordKey{Project: project}}
		if err := rows.Scan(&r.Key.Kind, &r.Key.Name, &r.Revision, &r.Value); err != nil {
			return nil, fail(name("view"), err)
		}
		all = append(all, r)
		if size += len(r.Value); len(all) > store.MaxViewed || size > store.MaxViewedBytes {
			return nil, fail(name("view"), fmt.Errorf("%w: more than %d records or %d bytes", store.ErrTooLarge, store.MaxViewed, store.MaxViewedBytes))
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fail(name("view"), err)
	}
	return storeimpl.SortView(all), nil
}

// viewed is a folder, or a record, of a view.
type viewed struct {
	store.Folder
	key bool
}

// holds reports whether all that another one has is also in this one.
func (v viewed) holds(other viewed) bool {
	switch {
	case v.Kind != other.Kind:
		return false
	case v.key:
		return other == v
	default:
		return v.Name == "" || other.Name == v.Name && !other.key || strings.HasPrefix(other.Name, v.Name+"/")
	}
}

// apart returns the parts of a view without those that are in others, so that no record is read
// and counted twice.
func apart(v store.View) []viewed {
	var all []viewed
	for _, f := range v.Folders {
		all = append(all, viewed{Folder: f})
	}
	for _, k := range v.Keys {
		all = append(all, viewed{store.Folder(k), true})
	}
	var parts []viewed
	for i, p := range all {
		elsewhere := func(other viewed) bool { return other.holds(p) }
		if !slices.ContainsFunc(parts, elsewhere) && !slices.ContainsFunc(all[i+1:], func(other viewed) bool { return other != p && other.holds(p) }) {
			parts = append(parts, p)
		}
	}
	return parts
}

// Scan implements [store.Records].
func (s *Store) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(f.Check(), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		from, to := storeimpl.Between(f, after)
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
