package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "modernc.org/sqlite"
)

// dialect is in what the two databases differ. Statements are written with
// question marks for their arguments and with the words of [dialect.words] in
// braces.
type dialect struct {
	postgres bool
	words    *strings.Replacer
}

// now is the time in microseconds since 1970, as the server counts it.
const postgresNow = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"

func postgres() dialect {
	return dialect{true, strings.NewReplacer(
		"{id}", "bigint generated always as identity primary key",
		"{text}", `text collate "C"`, // in the order of the bytes
		"{bytes}", "bytea",
		"{share}", "for share",
		"{update}", "for update",
		"{now}", postgresNow,
		"{revisions}", "create sequence claude_revisions",
		"{changes}", "create sequence claude_changes",
		"{first change}", "select 1", // a sequence needs none
	)}
}

func sqlite() dialect {
	return dialect{false, strings.NewReplacer(
		"{id}", "integer primary key autoincrement", // never the id of one that was deleted
		"{text}", "text",
		"{bytes}", "blob",
		"{share}", "", // a writer is alone
		"{update}", "",
		"{now}", "(cast(unixepoch('subsec') * 1000 as integer) * 1000)",
		"{revisions}", "create table claude_revisions as select 0 as n",
		"{changes}", `create table claude_changes (
			id integer primary key autoincrement,
			at bigint not null,
			project text not null,
			what text not null)`,
		"{first change}", "insert into claude_changes (at, project, what) values (0, '', '')", // there is always a last one
	)}
}

// sql makes a statement of the database's own.
func (d dialect) sql(text string) string {
	text = d.words.Replace(text)
	if !d.postgres {
		return text
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(text, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// querier is a database or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// database runs statements and transactions.
type database struct {
	db   *sql.DB
	d    dialect
	file *databaseFile // nil: it is on a server
}

// change runs a statement and returns how many rows it changed.
func (b *database) change(ctx context.Context, q querier, text string, args ...any) (int64, error) {
	res, err := q.ExecContext(ctx, b.d.sql(text), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row runs a query for one row.
func (b *database) row(ctx context.Context, q querier, text string, args ...any) *sql.Row {
	return q.QueryRowContext(ctx, b.d.sql(text), args...)
}

// within runs a function in a transaction.
func (b *database) within(ctx context.Context, do func(*sql.Tx) error) error {
	if err := b.file.check(); err != nil {
		return err
	}
	tx, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := do(tx); err != nil {
		return err
	}
	if err := b.file.check(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return &doubtError{err}
	}
	return nil
}

// doubtError is the error of a commit: it may have been made.
type doubtError struct{ err error }

// Error implements error.
func (e *doubtError) Error() string { return e.err.Error() }

// Unwrap returns the error of the database.
func (e *doubtError) Unwrap() error { return e.err }

// patience is how long a writer waits for others, if its context lasts so long. A
// process that was stopped in the middle of a write holds them up.
const patience = 10 * time.Second

// begin begins a transaction that writes. SQLite has one writer at a time, and its
// own wait for that does not end with a context: so it is short, and repeated.
func (b *database) begin(ctx context.Context) (*sql.Tx, error) {
	deadline := time.Now().Add(patience)
	for {
		tx, err := b.db.BeginTx(ctx, nil)
		e, ok := errors.AsType[*driver.Error](err)
		if !ok || e.Code()&0xff != busy {
			return tx, err
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another writer has held the database for more than %v: %w", patience, err)
		}
	}
}

// busy is SQLITE_BUSY, in the lowest byte of a code.
const busy = 5

// lockSession keeps other writers of a session out until the transaction ends.
// SQLite has one writer at a time anyway.
func (b *database) lockSession(ctx context.Context, tx *sql.Tx, project, session string) error {
	if !b.d.postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 7201))", project+"/"+session)
	return err
}

// fromMicro returns a time of the database.
func fromMicro(us int64) time.Time { return time.UnixMicro(us) }
