package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
)

var errFault = errors.New("the database is down")

// faults counts the requests to a database, and fails one of them.
type faults struct {
	*fileConnector
	t     *testing.T
	calls []string
	at    int // the number of the call that fails; 0 for none
}

// within counts a call that waits for the database, which must end with the caller's
// context.
func (f *faults) within(ctx context.Context, what string) error {
	if ctx.Done() == nil {
		f.t.Errorf("%s has a context that does not end", what)
	}
	return f.call(what)
}

// call counts a call.
func (f *faults) call(what string) error {
	if f.calls = append(f.calls, what); len(f.calls) == f.at {
		return errFault
	}
	return nil
}

func (f *faults) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := f.fileConnector.Connect(ctx)
	return &faultyConn{conn, f}, err
}

type faultyConn struct {
	driver.Conn
	f *faults
}

func (c *faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.f.within(ctx, "begin"); err != nil {
		return nil, err
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return &faultyTx{tx, c.f}, err
}

func (c *faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.f.within(ctx, query); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *faultyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.f.within(ctx, query); err != nil {
		return nil, err
	}
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &faultyRows{rows, c.f}, nil
}

type faultyTx struct {
	driver.Tx
	f *faults
}

func (t *faultyTx) Commit() error {
	if err := t.f.call("commit"); err != nil {
		return errors.Join(err, t.Tx.Rollback())
	}
	return t.Tx.Commit()
}

type faultyRows struct {
	driver.Rows
	f *faults
}

func (r *faultyRows) Next(dest []driver.Value) error {
	if err := r.f.call("a row"); err != nil {
		return err
	}
	return r.Rows.Next(dest)
}

// all ranges over a list and returns its error.
func all[T any](list iter.Seq2[T, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// dump is all that a database holds.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out strings.Builder
	query := func(text string, each func(*sql.Rows)) {
		rows, err := db.QueryContext(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			each(rows)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	var tables []string
	query("select name from sqlite_master where type = 'table' and name like 'claude%' order by name", func(r *sql.Rows) {
		var name string
		if err := r.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	})
	for _, table := range tables {
		query("select * from "+table, func(r *sql.Rows) {
			columns, err := r.Columns()
			if err != nil {
				t.Fatal(err)
			}
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := r.Scan(values...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&out, table)
			for _, v := range values {
				fmt.Fprintf(&out, " %v", *v.(*any))
			}
			out.WriteByte('\n')
		})
	}
	return out.String()
}

// Whatever the database refuses, a statement, a row or the commit: the error comes to the
// caller, nothing is changed, and done again it works. Each statement ends with the
// caller's context.
func TestDatabaseFaults(t *testing.T) {
	main := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	sub := store.Key{Project: "p", Session: main.Session, Sub: "subagents/agent-1"}
	record := func(name string) store.RecordKey { return store.RecordKey{Project: "p", Kind: "k", Name: name} }
	batch := func(id, uuid string) store.Batch {
		return store.Batch{ID: id, Entries: []store.Entry{store.Entry(`{"uuid":"` + uuid + `"}`), store.Entry(`{"type":"mode"}`)}}
	}
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &faults{t: t}
	file, err := openFile(s.file.path)
	if err != nil {
		t.Fatal(err)
	}
	named, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	f.fileConnector = &fileConnector{named.Driver(), "file:" + s.file.path + "?mode=rw&_txlock=immediate&_pragma=foreign_keys(1)", file}
	down := newStore(sql.OpenDB(f), sqlite(), file, nil)
	defer down.Close()

	ctx := t.Context()
	var lease store.Lease
	var revision int64
	put := func(value string) func(*Store) error {
		return func(s *Store) error {
			next, err := store.Put(ctx, s, record("a"), []byte(value), revision, lease.Fence)
			if err == nil {
				revision = next
			}
			return err
		}
	}
	fenced := func() store.Batch {
		b := batch("fenced", "f")
		b.Fence = lease.Fence
		return b
	}
	for _, op := range []struct {
		name string
		do   func(*Store) error
	}{
		{"first append", func(s *Store) error { return s.Append(ctx, main, batch("1", "1")) }},
		{"append", func(s *Store) error { return s.Append(ctx, main, batch("2", "2")) }},
		{"append of what is there", func(s *Store) error { return s.Append(ctx, main, batch("3", "2")) }},
		{"append of a batch again", func(s *Store) error { return s.Append(ctx, main, batch("2", "9")) }},
		{"append of a subagent", func(s *Store) error { return s.Append(ctx, sub, batch("1", "1")) }},
		{"load", func(s *Store) error { return all(s.Load(ctx, main, 0)) }},
		{"list", func(s *Store) error { return all(s.List(ctx, "p")) }},
		{"subagents", func(s *Store) error { return all(s.Subagents(ctx, "p", main.Session)) }},
		{"acquire", func(s *Store) (err error) { lease, err = s.Acquire(ctx, "p", "l", "me", time.Hour); return err }},
		{"renew", func(s *Store) error { return s.Renew(ctx, lease) }},
		{"fenced append", func(s *Store) error { return s.Append(ctx, main, fenced()) }},
		{"put", put("1")},
		{"change", put("2")},
		{"changes", func(s *Store) error {
			next, err := s.Change(ctx, lease.Fence, []store.RecordChange{{Key: record("b/1"), Value: []byte("1"), IfEmpty: "b"}, {Key: record("a"), Value: []byte("3"), Revision: revision}}...)
			if err == nil {
				revision = next[1]
			}
			return err
		}},
		{"get", func(s *Store) error { _, err := store.Get(ctx, s, record("a")); return err }},
		{"scan", func(s *Store) error { return all(s.Scan(ctx, store.Folder{Project: "p", Kind: "k"}, "")) }},
		{"scan below", func(s *Store) error { return all(s.Scan(ctx, store.Folder{Project: "p", Kind: "k", Name: "b"}, "")) }},
		{"view", func(s *Store) error {
			_, err := s.View(ctx, store.View{Keys: []store.RecordKey{record("a")}, Folders: []store.Folder{store.Folder(record("b"))}})
			return err
		}},
		{"a wider view", func(s *Store) error {
			_, err := s.View(ctx, store.View{Keys: []store.RecordKey{record("a")}, Folders: []store.Folder{{Project: "p", Kind: "k"}}})
			return err
		}},
		{"change beside what is kept", func(s *Store) error {
			next, err := s.Change(ctx, lease.Fence, store.RecordChange{Key: record("a"), Keep: true, Revision: revision}, store.RecordChange{Key: record("none"), Keep: true}, store.RecordChange{Key: record("c")})
			if err == nil && next[0] != revision {
				t.Errorf("the revisions are %v", next)
			}
			return err
		}},
		{"now", func(s *Store) error { _, err := s.Now(ctx); return err }},
		{"drop", func(s *Store) error { return store.Drop(ctx, s, record("a"), revision, lease.Fence) }},
		{"release", func(s *Store) error { return s.Release(ctx, lease) }},
		{"delete of a subagent", func(s *Store) error { return s.Delete(ctx, sub, store.Fence{}) }},
		{"prune", func(s *Store) error {
			n, err := s.Prune(ctx, "p", time.Now().Add(time.Hour))
			if err == nil && n != 1 || err != nil && n != 0 {
				t.Errorf("pruned %d, %v", n, err)
			}
			return err
		}},
		{"delete", func(s *Store) error { return s.Delete(ctx, main, store.Fence{}) }},
	} {
		before := dump(t, s.db)
		for f.at = 1; ; f.at++ {
			f.calls = nil
			err := op.do(down)
			if len(f.calls) < f.at {
				if err != nil {
					t.Fatalf("%s: %v", op.name, err)
				}
				break
			}
			failed := strings.Join(strings.Fields(f.calls[f.at-1]), " ")
			if !errors.Is(err, errFault) {
				t.Errorf("%s: the failure of %q is lost: %v", op.name, failed, err)
				break
			}
			if after := dump(t, s.db); after != before {
				t.Errorf("%s, after the failure of %q:\n%swant\n%s", op.name, failed, after, before)
				break
			}
		}
		writes := slices.Contains(f.calls, "commit")
		if f.at < 2 || writes && len(f.calls) < 3 {
			t.Errorf("%s: %d calls", op.name, len(f.calls))
		}
	}
}

// A password in a data source is in no error.
func TestErrorsHidePasswords(t *testing.T) {
	for _, source := range []string{
		"postgres://ada:swordfish@host:port/db", "postgres://ada:swordfish@[host/db", "postgresql://ada:swordfish@host/db?sslmode=other", "postgres://ada:sword%zzfish@host/db", "postgres://host:port/db?password=swordfish", "postgres://host/db?sslmode=other&password=swordfish&user=ada",
		"mysql://ada:swordfish@host/db", "ada:swordfish@host",
	} {
		s, err := Open(t.Context(), source)
		if err == nil {
			t.Errorf("%s was opened", source)
			s.Close()
			continue
		}
		if strings.Contains(err.Error(), "swordfish") {
			t.Errorf("the error says %v", err)
		}
	}
	source := "postgres://ada:swordfish@host/db"
	if err := hide(fmt.Errorf("cannot parse %s: bad", source), source); strings.Contains(err.Error(), "swordfish") || !strings.Contains(err.Error(), "cannot parse") {
		t.Errorf("hidden: %v", err)
	}
	if err := hide(errFault, source); err != errFault {
		t.Errorf("nothing to hide: %v", err)
	}
}

// A file that is moved in the middle of a change is noticed before the commit:
// writes to it would be lost.
func TestMovedDuringChange(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a file that is open cannot be moved there
	}
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.within(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "insert into claude_leases (project, name, owner, token, ends) values ('p', 'n', '', 7, 0)"); err != nil {
			return err
		}
		return os.Rename(path, path+".away")
	})
	if !errors.Is(err, ErrMoved) {
		t.Errorf("moved: %v", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, s.db); strings.Contains(got, "claude_leases") {
		t.Errorf("committed to a file that was moved: %s", got)
	}
}
