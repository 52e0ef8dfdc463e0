package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/claude-agent-go/claude/store"
)

// Store is a store in a SQL database. Its methods may be called from any
// goroutine.
type Store struct {
	db   *sql.DB
	d    dialect
	file *databaseFile // nil: it is on a server
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
		return open(ctx, stdlib.OpenDB(*config), postgres(), nil)
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
		return open(ctx, sql.OpenDB(&fileConnector{named.Driver(), dsn, file}), sqlite(), file)
	default:
		return nil, fmt.Errorf("claude: sqlstore: %q %w", scheme+":…", ErrScheme) // the rest may hold a password
	}
}

// postgresConfig returns how to connect to a server. A process that stops in the middle of
// a write must not hold a lease for hours. What waits for a lock must see what was written
// before it.
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

func open(ctx context.Context, db *sql.DB, d dialect, file *databaseFile) (*Store, error) {
	s := &Store{db, d, file}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }
