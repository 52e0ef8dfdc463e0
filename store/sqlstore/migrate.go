package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/claude-agent-go/claude/store"
)

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
	}}
}

// ErrNewer means that a newer version of this package made the tables. It matches
// [store.ErrNewer].
var ErrNewer error = newerTables{}

type newerTables struct{}

func (newerTables) Error() string { return "the tables were made by a newer version" }

func (newerTables) Is(target error) bool { return target == store.ErrNewer }

// migrate makes the tables or brings them up to date. Many may do it at once.
func (s *Store) migrate(ctx context.Context) error {
	// A read does not wait for writers. If it fails, there are no tables.
	var version int
	if err := s.row(ctx, s.db, "select max(version) from claude_schema").Scan(&version); err == nil && version == len(migrations()) {
		return nil
	}
	err := s.within(ctx, func(tx *sql.Tx) error {
		if s.d.postgres {
			if _, err := tx.ExecContext(ctx, "select pg_advisory_xact_lock(7201, 0)"); err != nil {
				return err
			}
		}
		if _, err := s.change(ctx, tx, "create table if not exists claude_schema (version bigint not null)"); err != nil {
			return err
		}
		var version int
		if err := s.row(ctx, tx, "select coalesce(max(version), 0) from claude_schema").Scan(&version); err != nil {
			return err
		}
		steps := migrations()
		if version > len(steps) {
			return fmt.Errorf("%w: they are at %d, and this one knows %d", ErrNewer, version, len(steps))
		}
		for i, step := range steps[version:] {
			for _, text := range step {
				if _, err := s.change(ctx, tx, text); err != nil {
					return fmt.Errorf("step %d: %w", version+i+1, err)
				}
			}
			if _, err := s.change(ctx, tx, "insert into claude_schema values (?)", version+i+1); err != nil {
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
