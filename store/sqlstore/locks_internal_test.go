package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
)

// The steps of a store on Postgres, with its locks, are the same on every server. So the
// quick level reads them off a connection that notes each statement and lets SQLite, which
// has one writer at a time and no row locks, carry it out.
type notedConn struct {
	driver.Conn
	*noter
}

type noter struct {
	*fileConnector
	steps []string
	lost  bool // the answers to commits, which are made
}

func (n *noter) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := n.fileConnector.Connect(ctx)
	return &notedConn{conn, n}, err
}

// numbered are the arguments of a statement of Postgres, tables the tables of the store.
var (
	numbered = regexp.MustCompile(`\$(\d+)`)
	tables   = regexp.MustCompile(`claude_([a-z]+)`)
)

// step names a statement in a few words: what it does to which table, and its lock.
func step(query string, args []driver.NamedValue) string {
	text := strings.Join(strings.Fields(query), " ")
	if strings.Contains(text, "pg_advisory_xact_lock") {
		return fmt.Sprintf("lock %v", args[0].Value)
	}
	text, numbers := strings.CutSuffix(text, " returning nextval('claude_changes')")
	table := tables.FindStringSubmatch(text)
	if table == nil {
		return "clock"
	}
	what, _, _ := strings.Cut(text, " ")
	for _, lock := range []string{"for share", "for update"} {
		if strings.HasSuffix(text, lock) {
			what += " " + lock
		}
	}
	if strings.Contains(text, "_records") && (what != "select" || recordName(args) != "?") && !strings.Contains(text, "exists") { // which one
		what = fmt.Sprintf("%s %s of", what, recordName(args))
	}
	if numbers {
		what = "numbered " + what
	}
	return what + " " + table[1]
}

// recordName is the first text among the arguments that names a record of the test.
func recordName(args []driver.NamedValue) string {
	for _, a := range args {
		if text, ok := a.Value.(string); ok && strings.HasPrefix(text, "name-") {
			return text
		}
	}
	return "?"
}

// translate makes a statement of Postgres one of SQLite.
func translate(query string) string {
	switch text := strings.Join(strings.Fields(query), " "); {
	case strings.Contains(text, "pg_advisory_xact_lock"):
		return "select 1 where ?1 <> ''"
	case strings.Contains(text, "nextval('claude_revisions')"):
		return "update claude_revisions set n = n + 1 returning n"
	default:
		text = strings.Replace(text, "nextval('claude_changes')", "1", 1)
		text = strings.ReplaceAll(text, postgresNow, sqlite().sql("{now}"))
		text = strings.TrimSuffix(strings.TrimSuffix(text, " for share"), " for update")
		return numbered.ReplaceAllString(text, "?$1")
	}
}

func (c *notedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.steps = append(c.steps, "begin")
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return &notedTx{tx, c.noter}, err
}

func (c *notedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.steps = append(c.steps, step(query, args))
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, translate(query), args)
}

func (c *notedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.steps = append(c.steps, step(query, args))
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, translate(query), args)
}

type notedTx struct {
	driver.Tx
	*noter
}

func (t *notedTx) Commit() error {
	t.steps = append(t.steps, "commit")
	if err := t.Tx.Commit(); err != nil || !t.lost {
		return err
	}
	return errFault
}

func (t *notedTx) Rollback() error {
	t.steps = append(t.steps, "rollback")
	return t.Tx.Rollback()
}

// noteSteps returns a store that works as on Postgres, and what notes its steps.
func noteSteps(t *testing.T) (*noter, *Store) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "s.db")
	made, err := Open(t.Context(), "sqlite:"+at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	named, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { named.Close() })
	n := &noter{fileConnector: &fileConnector{named.Driver(), "file:" + at + "?mode=rw&_txlock=immediate&_pragma=foreign_keys(1)", made.file}}
	s := newStore(sql.OpenDB(n), postgres(), nil, nil)
	t.Cleanup(func() { s.Close() })
	return n, s
}

// On Postgres a write first locks the lease that it carries, for share, then the session,
// and only then looks whether it may. What was looked at before a lock may be untrue behind
// it. Records are locked in the order of their names, whatever order they came in.
func TestPostgresLocks(t *testing.T) {
	n, s := noteSteps(t)

	ctx := t.Context()
	const id = "00000000-0000-4000-8000-000000000001"
	main := store.Key{Project: "p", Session: id}
	sub := store.Key{Project: "p", Session: id, Sub: "subagents/agent-1"}
	record := func(name string) store.RecordKey { return store.RecordKey{Project: "p", Kind: "k", Name: name} }
	batch := func(id string, f store.Fence, lines ...string) store.Batch {
		b := store.Batch{ID: id, Fence: f}
		for _, l := range lines {
			b.Entries = append(b.Entries, store.Entry(l))
		}
		return b
	}
	var lease store.Lease
	var revisions []int64
	for _, op := range []struct {
		name string
		do   func() error
		want string
	}{
		{"acquire", func() (err error) { lease, err = s.Acquire(ctx, "p", "l", "me", time.Hour); return err },
			"begin; insert leases; select for update leases; clock; update leases; commit"},
		{"acquire again", func() error {
			if _, err := s.Acquire(ctx, "p", "l", "you", time.Hour); !errors.Is(err, store.ErrLeased) {
				return fmt.Errorf("held: %w", err)
			}
			return nil
		}, "begin; insert leases; select for update leases; clock; commit"},
		{"renew", func() error { return s.Renew(ctx, lease) },
			"begin; insert leases; select for update leases; clock; update leases; commit"},
		{"first append", func() error { return s.Append(ctx, main, batch("1", lease.Fence, `{"uuid":"1"}`, `{"type":"mode"}`)) },
			"begin; select for share leases; lock p/" + id + "; select deleted; select transcripts; insert transcripts; select transcripts; insert batches; select entries; insert entries; update transcripts; commit"},
		{"append", func() error { return s.Append(ctx, main, batch("", store.Fence{}, `{"uuid":"2"}`)) },
			"begin; lock p/" + id + "; select deleted; select transcripts; select entries; insert entries; update transcripts; commit"},
		{"append of a batch again", func() error { return s.Append(ctx, main, batch("1", lease.Fence, `{"uuid":"3"}`)) },
			"begin; select for share leases; lock p/" + id + "; select deleted; select transcripts; insert batches; commit"},
		{"append of a subagent", func() error { return s.Append(ctx, sub, batch("", lease.Fence, `{"type":"mode"}`)) },
			"begin; select for share leases; lock p/" + id + "; select deleted; select transcripts; insert transcripts; select transcripts; insert entries; update transcripts; commit"},
		{"changes", func() (err error) {
			revisions, err = s.Change(ctx, lease.Fence, []store.RecordChange{{Key: record("name-b"), Value: []byte("1")}, {Key: record("name-a/1"), Value: []byte("1"), IfEmpty: "name-a"}}...)
			return err
		}, "begin; select for share leases; select records; select revisions; numbered insert name-a/1 of records; select revisions; numbered insert name-b of records; commit"},
		{"put", func() (err error) {
			revisions[0], err = store.Put(ctx, s, record("name-b"), []byte("2"), revisions[0], lease.Fence)
			return err
		}, "begin; select for share leases; select revisions; numbered update name-b of records; commit"},
		{"change beside what is kept", func() (err error) {
			revisions, err = s.Change(ctx, lease.Fence,
				store.RecordChange{Key: record("name-b"), Value: []byte("3"), Revision: revisions[0]},
				store.RecordChange{Key: record("name-a/1"), Keep: true, Revision: revisions[1]},
				store.RecordChange{Key: record("name-a/0"), Keep: true})
			return err
		}, "begin; select for share leases; insert name-a/0 of records; delete name-a/0 of records; select for share name-a/1 of records; select revisions; numbered update name-b of records; commit"},
		{"drop", func() error { return store.Drop(ctx, s, record("name-b"), revisions[0], lease.Fence) },
			"begin; select for share leases; numbered delete name-b of records; commit"},
		{"drop of nothing", func() error {
			if err := store.Drop(ctx, s, record("name-b"), revisions[0], lease.Fence); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("dropped: %w", err)
			}
			return nil
		}, "begin; select for share leases; numbered delete name-b of records; select records; rollback"},
		{"delete of a subagent", func() error { return s.Delete(ctx, sub, lease.Fence) },
			"begin; select for share leases; lock p/" + id + "; delete transcripts; commit"},
		{"prune", func() error { _, err := s.Prune(ctx, "p", time.Now().Add(time.Hour)); return err },
			"select transcripts; begin; lock p/" + id + "; select transcripts; insert deleted; delete transcripts; commit"},
		{"delete", func() error { return s.Delete(ctx, main, lease.Fence) },
			"begin; select for share leases; lock p/" + id + "; insert deleted; delete transcripts; commit"},
		{"append to what was deleted", func() error {
			if err := s.Append(ctx, main, batch("", lease.Fence, `{"uuid":"9"}`)); !errors.Is(err, store.ErrDeleted) {
				return fmt.Errorf("appended: %w", err)
			}
			return nil
		}, "begin; select for share leases; lock p/" + id + "; select deleted; rollback"},
		{"release", func() error { return s.Release(ctx, lease) },
			"begin; insert leases; select for update leases; clock; update leases; commit"},
		{"append of a lost owner", func() error {
			if err := s.Append(ctx, main, batch("", lease.Fence, `{"uuid":"9"}`)); !errors.Is(err, store.ErrLeaseLost) {
				return fmt.Errorf("appended: %w", err)
			}
			return nil
		}, "begin; select for share leases; rollback"},
	} {
		n.steps = nil
		if err := op.do(); err != nil {
			t.Fatalf("%s: %v, after %q", op.name, err, n.steps)
		}
		if got := strings.Join(n.steps, "; "); got != op.want {
			t.Errorf("%s:\n     %s\nwant %s", op.name, got, op.want)
		}
	}
}

// Statements of Postgres number their arguments, in order.
func TestPostgresStatements(t *testing.T) {
	for text, want := range map[string]string{
		"select 1":                                  "select 1",
		"a = ? and b = ? {share}":                   "a = $1 and b = $2 for share",
		"a in (?,?,?) {update}":                     "a in ($1,$2,$3) for update",
		"{id} {text} {bytes}":                       `bigint generated always as identity primary key text collate "C" bytea`,
		"set x = ?, y = {now} where z = ?":          "set x = $1, y = " + postgresNow + " where z = $2",
		strings.Repeat("?", 11):                     "$1$2$3$4$5$6$7$8$9$10$11",
		migrations()[0][len(migrations()[0])-2:][0]: "create sequence claude_revisions",
	} {
		if got := postgres().sql(text); got != want {
			t.Errorf("%s\nis   %s\nwant %s", text, got, want)
		}
	}
}

// A connection to Postgres ends a transaction whose process is stopped, and sees what was
// committed while it waited for a lock, whatever the server has as its default.
func TestPostgresConnections(t *testing.T) {
	config, err := postgresConfig("postgres://ada:swordfish@host/db?application_name=mine&default_transaction_isolation=serializable")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"idle_in_transaction_session_timeout": "10000",
		"default_transaction_isolation":       "read committed",
		"application_name":                    "mine",
	} {
		if got := config.RuntimeParams[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if config.Password != "swordfish" || config.User != "ada" || config.Host != "host" || config.Database != "db" {
		t.Errorf("connects as %s to %s/%s", config.User, config.Host, config.Database)
	}
}

// Readers of Postgres look at everything now and then, whatever is announced.
func TestPostgresLooks(t *testing.T) {
	config, err := postgresConfig("postgres://host/db")
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(sql.OpenDB(&fileConnector{}), postgres(), nil, config)
	defer s.Close()
	if look := s.line.Look; look <= 0 || look > 5*time.Minute {
		t.Errorf("they look every %v", look)
	}
}

// While a change that keeps a record, or keeps it from being made, is not committed, another one
// waits. Otherwise two changes could each be based on what the other one has just changed.
func TestPostgresKeepHolds(t *testing.T) {
	source := server.Postgres(t, 15)
	ctx := t.Context()
	var stores []*Store
	for range 2 {
		s, err := Open(ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores = append(stores, s)
	}
	mine, other := stores[0], stores[1]
	there, absent := store.RecordKey{Project: "p", Kind: "k", Name: "there"}, store.RecordKey{Project: "p", Kind: "k", Name: "absent"}
	made, err := mine.Change(ctx, store.Fence{}, store.RecordChange{Key: there})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []store.RecordChange{{Key: there, Revision: made[0]}, {Key: absent}} {
		changed := make(chan error, 1)
		err := mine.within(ctx, func(tx *sql.Tx) error {
			if err := mine.keep(ctx, tx, c); err != nil {
				return err
			}
			go func() {
				_, err := other.Change(ctx, store.Fence{}, c)
				changed <- err
			}()
			for {
				var waits bool
				if err := mine.db.QueryRowContext(ctx, "select exists (select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%claude_records%')").Scan(&waits); err != nil || waits {
					return err
				}
				select {
				case err := <-changed:
					return fmt.Errorf("it was changed in the meantime: %w", err)
				default:
				}
			}
		})
		if err != nil {
			t.Fatalf("%v: %v", c.Key, err)
		}
		if err := <-changed; err != nil {
			t.Errorf("%v, after the change that kept it: %v", c.Key, err)
		}
	}
	found, err := mine.View(ctx, store.View{Folders: []store.Folder{{Project: "p", Kind: "k"}}})
	if err != nil || len(found) != 2 || found[0].Revision == 0 {
		t.Errorf("there are %+v, %v", found, err)
	}
}

// While a write under a lease is not committed, no other owner gets the lease, even when
// its time is over: else entries of the old owner would appear behind those of the new one.
func TestPostgresFenceHolds(t *testing.T) {
	source := server.Postgres(t, 15)
	ctx := t.Context()
	open := func() *Store {
		s, err := Open(ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	mine, other := open(), open()
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	lease, err := mine.Acquire(ctx, "p", "l", "me", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	begin, err := mine.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for now := begin; now.Sub(begin) < 2*time.Millisecond; { // its time is over, but it is still the last one
		if now, err = mine.Now(ctx); err != nil {
			t.Fatal(err)
		}
	}
	type taken struct {
		lease store.Lease
		err   error
	}
	took := make(chan taken, 1)
	err = mine.within(ctx, func(tx *sql.Tx) error {
		if _, err := mine.append(ctx, tx, k, store.Batch{Fence: lease.Fence, Entries: []store.Entry{store.Entry(`{"uuid":"old"}`)}}); err != nil {
			return err
		}
		go func() {
			l, err := other.Acquire(ctx, "p", "l", "you", time.Hour)
			took <- taken{l, err}
		}()
		for {
			var waits bool
			if err := mine.db.QueryRowContext(ctx, "select exists (select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%claude_leases%')").Scan(&waits); err != nil || waits {
				return err
			}
			select {
			case l := <-took:
				return fmt.Errorf("in the middle of a write another owner has %+v, %w", l.lease, l.err)
			default:
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	l := <-took
	if l.err != nil || l.lease.Token <= lease.Token {
		t.Fatalf("after the write: %+v, %v", l.lease, l.err)
	}
	// The new owner sees all that the old one has written, which can write no more.
	var got []string
	for e, err := range store.Entries(ctx, other, k) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e))
	}
	if len(got) != 1 {
		t.Errorf("the new owner reads %q", got)
	}
	if err := mine.Append(ctx, k, store.Batch{Fence: lease.Fence, Entries: []store.Entry{store.Entry(`{"uuid":"late"}`)}}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the old owner appends: %v", err)
	}
}
