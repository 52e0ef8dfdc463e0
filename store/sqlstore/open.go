package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Store is a store in a SQL database. Its methods may be called from any
// goroutine.
type Store struct {
	*database
	hub *storeimpl.Hub

	// SQLite keeps a log of changes.
	log changeLog
	// With Postgres, changes are announced after they are made. Nil: they are not.
	notes *notes
	line  *storeimpl.Listener // to what all processes announce
}

// newStore returns a store whose tables are not looked at yet. How to reach a server is nil for a
// file.
func newStore(db *sql.DB, d dialect, file *databaseFile, server *pgx.ConnConfig) *Store {
	s := &Store{database: &database{db, d, file}}
	if server == nil {
		s.log.database, s.log.nudge = s.database, make(chan struct{}, 1)
		s.log.pruned.Store(time.Now().UnixNano())
		s.hub = storeimpl.NewHub(s.log.poll)
		s.log.hub = s.hub
		return s
	}
	s.line = s.listener(server)
	s.hub = storeimpl.NewHub(s.line.Run)
	s.line.Hub = s.hub
	s.notes = &notes{send: s.notify, alone: s.line.Alone, take: s.line.Take}
	return s
}

var _ store.Fleet = (*Store)(nil)

// ErrScheme means that a data source is neither SQLite nor Postgres.
var ErrScheme = errors.New(`is not a data source: want "postgres://…" or "sqlite:FILE"`)

// Open opens a database and creates or updates the tables. The data source is
// a Postgres URL ("postgres://user@host/database") or an SQLite file
// ("sqlite:FILE"). While a store is open, its file must stay where it is: when it was
// moved or replaced, changes fail with [ErrMoved]. Close the store when you are done with it.
func Open(ctx context.Context, source string) (*Store, error) {
	switch scheme, rest, _ := strings.Cut(source, ":"); scheme {
	case "postgres", "postgresql":
		config, err := postgresConfig(source)
		if err != nil {
			return nil, fmt.Errorf("claude: sqlstore: %w", err)
		}
		return open(ctx, newStore(stdlib.OpenDB(*config), postgres(), nil, config))
	case "sqlite":
		if rest == "" || strings.Contains(rest, "?") || strings.HasPrefix(rest, ":") { // ":memory:" is another one for each connection
			return nil, fmt.Errorf("claude: sqlstore: %q %w", source, ErrScheme)
		}
		// A writer takes its lock when it begins, not in the middle. WAL lets
		// others read meanwhile. FULL survives a crash of the machine.
		file, err := openFile(strings.TrimPrefix(rest, "//"))
		if err != nil {
			return nil, fmt.Errorf("claude: sqlstore: %w", err)
		}
		// A connection that is made later must not make another database.
		dsn := "file:" + (&url.URL{Path: strings.TrimPrefix(rest, "//")}).EscapedPath() +
			"?mode=rw&_txlock=immediate&_pragma=busy_timeout(50)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"
		named, err := sql.Open("sqlite", dsn) // database/sql has no other way to a driver
		if err == nil {
			err = named.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("claude: sqlstore: %w", err)
		}
		return open(ctx, newStore(sql.OpenDB(&fileConnector{named.Driver(), dsn, file}), sqlite(), file, nil))
	default:
		return nil, fmt.Errorf("claude: sqlstore: %q %w", scheme+":…", ErrScheme) // the rest may hold a password
	}
}

// postgresConfig returns how to connect to a server. A process that stops in the middle of
// a write must not hold a lease for hours. A statement that waits for a lock must see
// everything written before it.
func postgresConfig(source string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(source)
	if err != nil {
		return nil, hide(err, source)
	}
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "10000" // milliseconds
	config.RuntimeParams["default_transaction_isolation"] = "read committed"
	return config, nil
}

// hide keeps a password in a data source out of an error.
func hide(err error, source string) error {
	if strings.Contains(err.Error(), source) {
		return errors.New(strings.ReplaceAll(err.Error(), source, "postgres://…"))
	}
	return err
}

func open(ctx context.Context, s *Store) (*Store, error) {
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

var errClosed = errors.New("claude: sqlstore: the store is closed")

// Close closes the database. Loops over [Store.Watch] end with an error. With Postgres, Close
// waits for a moment until the last changes are announced.
func (s *Store) Close() error {
	s.notes.close()
	s.hub.Close(errClosed)
	return s.db.Close()
}

// migrations are the steps from an empty database to the current schema. A step
// that was released is never changed.
func migrations() [][]string {
	return [][]string{{
		`create table claude_transcripts (
			id {id},
			project {text} not null,
			session {text} not null,
			sub {text} not null,
			next bigint not null default 0,
			modified bigint not null default 0,
			summary {bytes},
			unique (project, session, sub))`,
		`create index claude_transcripts_list on claude_transcripts (project, sub, modified)`,
		`create table claude_entries (
			transcript bigint not null references claude_transcripts (id) on delete cascade,
			seq bigint not null,
			uuid {bytes},
			line {bytes} not null,
			primary key (transcript, seq))`,
		`create unique index claude_entries_uuid on claude_entries (transcript, uuid) where uuid is not null`,
		`create table claude_batches (
			transcript bigint not null references claude_transcripts (id) on delete cascade,
			id {text} not null,
			primary key (transcript, id))`,
		`create table claude_deleted (
			project {text} not null,
			session {text} not null,
			primary key (project, session))`,
		`create table claude_leases (
			project {text} not null,
			name {text} not null,
			owner {text} not null,
			token bigint not null,
			ends bigint not null,
			primary key (project, name))`,
		`{revisions}`,
		`create table claude_records (
			project {text} not null,
			kind {text} not null,
			name {text} not null,
			revision bigint not null,
			value {bytes} not null,
			primary key (project, kind, name))`,
	}, {
		`{changes}`,
		`{first change}`,
	}}
}

// ErrNewer means that a newer version of this package made the tables. It matches
// [store.ErrNewer].
var ErrNewer error = newerTables{}

type newerTables struct{}

func (newerTables) Error() string { return "the tables were made by a newer version" }

func (newerTables) Is(target error) bool { return target == store.ErrNewer }

// migrate makes the tables or brings them up to date. Many may do it at once.
func (b *database) migrate(ctx context.Context) error {
	// A read does not wait for writers. If it fails, there are no tables.
	var version int
	if err := b.row(ctx, b.db, "select max(version) from claude_schema").Scan(&version); err == nil && version == len(migrations()) {
		return nil
	}
	err := b.within(ctx, func(tx *sql.Tx) error {
		if b.d.postgres {
			if _, err := tx.ExecContext(ctx, "select pg_advisory_xact_lock(7201, 0)"); err != nil {
				return err
			}
		}
		if _, err := b.change(ctx, tx, "create table if not exists claude_schema (version bigint not null)"); err != nil {
			return err
		}
		var version int
		if err := b.row(ctx, tx, "select coalesce(max(version), 0) from claude_schema").Scan(&version); err != nil {
			return err
		}
		steps := migrations()
		if version > len(steps) {
			return fmt.Errorf("%w: they are at %d, and this one knows %d", ErrNewer, version, len(steps))
		}
		for i, step := range steps[version:] {
			for _, text := range step {
				if _, err := b.change(ctx, tx, text); err != nil {
					return fmt.Errorf("step %d: %w", version+i+1, err)
				}
			}
			if _, err := b.change(ctx, tx, "insert into claude_schema values (?)", version+i+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("claude: sqlstore: %w", err)
	}
	return nil
}
