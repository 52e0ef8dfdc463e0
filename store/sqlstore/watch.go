package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/claude-agent-go/claude/store"
)

// Watch implements [store.Records].
//
// With SQLite, changes of this process come at once, and those of others within a fraction of a second. If
// this process sleeps for longer than the log of changes reaches back, a minute, it reads the
// zero Changed.
//
// With Postgres, a process announces its changes when they are made, a moment after they are
// committed. If it is killed in between, nothing is announced, so the zero Changed also comes
// once a minute. Watch needs a session of its own: behind a pooler that does not keep sessions,
// the zero Changed comes every few seconds instead.
func (s *Store) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return s.hub.Watch(ctx, project)
}

// change is something that a transaction changes, with the number of the change: see touch.
type change struct {
	what   store.Changed
	number int64
}

// write runs a function in a transaction, and announces what it has changed.
func (s *Store) write(ctx context.Context, project string, do func(*sql.Tx) ([]change, error)) error {
	var made []change
	err := s.within(ctx, func(tx *sql.Tx) (err error) {
		if made, err = do(tx); err != nil || s.d.postgres {
			return err
		}
		return s.log.logged(ctx, tx, project, made)
	})
	switch _, doubt := errors.AsType[*doubtError](err); {
	case err != nil && !doubt || len(made) == 0:
	case !s.d.postgres:
		s.log.look()
	case doubt:
		s.notes.add([]string{missedNote(project)})
	default:
		s.notes.add(noted(project, made))
	}
	return err
}
