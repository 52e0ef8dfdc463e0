package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"math"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// List implements [store.Transcripts], page by page.
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
			yield(store.Summary{}, err)
			return
		}
		modified, session := int64(math.MaxInt64), ""
		for {
			rows, err := s.db.QueryContext(ctx, s.d.sql(`select session, modified, summary from claude_transcripts
				where project = ? and sub = '' and next > 0 and (modified < ? or modified = ? and session > ?)
				order by modified desc, session limit ?`), project, modified, modified, session, pageRows)
			var page []store.Summary
			if err == nil {
				page, modified, err = scanSessions(rows)
			}
			if err != nil {
				yield(store.Summary{}, fail(name(project), err))
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
				session = item.Session
			}
			if len(page) < pageRows {
				return
			}
		}
	}
}

// name is a project as errors show it.
type name string

// String returns the name.
func (n name) String() string { return string(n) }

// scanSessions reads a page, and the time of its last row.
func scanSessions(rows *sql.Rows) (page []store.Summary, last int64, err error) {
	defer rows.Close()
	for rows.Next() {
		var item store.Summary
		if err := rows.Scan(&item.Session, &last, &item.Data); err != nil {
			return nil, 0, err
		}
		item.Modified = fromMicro(last)
		page = append(page, item)
	}
	return page, last, rows.Err()
}

// Subagents implements [store.Transcripts].
func (s *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		k := store.Key{Project: project, Session: session}
		if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
			yield("", err)
			return
		}
		subs, err := s.texts(ctx, "select sub from claude_transcripts where project = ? and session = ? and sub <> '' and next > 0 order by sub", project, session)
		if err != nil {
			yield("", fail(k, err))
			return
		}
		for _, sub := range subs {
			if !yield(sub, nil) {
				return
			}
		}
	}
}

// texts runs a query for one column.
func (s *Store) texts(ctx context.Context, text string, args ...any) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, s.d.sql(text), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var t string
		if err := rows.Scan(&t); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// Delete implements [store.Transcripts].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	return fail(k, s.write(ctx, k.Project, func(tx *sql.Tx) ([]change, error) {
		gone := []change{{what: store.Changed{Transcript: k, By: f}}}
		if err := s.fenced(ctx, tx, f); err != nil {
			return nil, err
		}
		if err := s.lockSession(ctx, tx, k.Project, k.Session); err != nil {
			return nil, err
		}
		if k.Sub != "" {
			_, err := s.change(ctx, tx, "delete from claude_transcripts where project = ? and session = ? and sub = ?", k.Project, k.Session, k.Sub)
			return gone, err
		}
		return gone, s.deleteSession(ctx, tx, k)
	}))
}

// deleteSession deletes a session that is locked, and notes that it was.
func (s *Store) deleteSession(ctx context.Context, tx *sql.Tx, k store.Key) error {
	if _, err := s.change(ctx, tx, "insert into claude_deleted (project, session) values (?, ?) on conflict do nothing", k.Project, k.Session); err != nil {
		return err
	}
	_, err := s.change(ctx, tx, "delete from claude_transcripts where project = ? and session = ?", k.Project, k.Session)
	return err
}

// Prune deletes the sessions of a project that have not been appended to since
// a time, by the database's clock, and returns how many there were. It deletes
// them one by one, so you can stop it and call it again to continue.
func (s *Store) Prune(ctx context.Context, project string, before time.Time) (n int, err error) {
	if err := store.CheckProject(project); err != nil {
		return 0, err
	}
	old, err := s.texts(ctx, "select session from claude_transcripts where project = ? and sub = '' and modified < ?", project, before.UnixMicro())
	if err != nil {
		return 0, fail(name(project), err)
	}
	for _, session := range old {
		k := store.Key{Project: project, Session: session}
		deleted := false
		err := s.write(ctx, project, func(tx *sql.Tx) ([]change, error) {
			if err := s.lockSession(ctx, tx, project, session); err != nil {
				return nil, err
			}
			var modified int64
			// Another process may have appended in the meantime.
			if err := s.row(ctx, tx, "select coalesce(max(modified), 0) from claude_transcripts where project = ? and session = ?", project, session).Scan(&modified); err != nil || modified >= before.UnixMicro() {
				return nil, err
			}
			deleted = true
			return []change{{what: store.Changed{Transcript: k}}}, s.deleteSession(ctx, tx, k)
		})
		if err != nil {
			return n, fail(k, err)
		}
		if deleted {
			n++
		}
	}
	return n, nil
}
