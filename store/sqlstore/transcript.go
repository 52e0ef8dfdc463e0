package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// fail prefixes an error with its origin, once.
func fail(k fmt.Stringer, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("claude: sqlstore: %v: %w", k, err)
}

// Append implements [store.Transcripts].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	return fail(k, s.write(ctx, k.Project, func(tx *sql.Tx) ([]change, error) { return s.append(ctx, tx, k, b) }))
}

func (s *Store) append(ctx context.Context, tx *sql.Tx, k store.Key, b store.Batch) (grown []change, err error) {
	if err := s.fenced(ctx, tx, b.Fence); err != nil {
		return nil, err
	}
	if err := s.lockSession(ctx, tx, k.Project, k.Session); err != nil {
		return nil, err
	}
	var deleted bool
	err = s.row(ctx, tx, "select exists (select 1 from claude_deleted where project = ? and session = ?)", k.Project, k.Session).Scan(&deleted)
	if err != nil {
		return nil, err
	}
	if deleted {
		return nil, store.ErrDeleted
	}
	if len(b.Entries) == 0 {
		return nil, nil
	}
	t, err := s.transcript(ctx, tx, k)
	if err != nil {
		return nil, err
	}
	if b.ID != "" {
		n, err := s.change(ctx, tx, "insert into claude_batches (transcript, id) values (?, ?) on conflict do nothing", t.id, b.ID)
		if err != nil || n == 0 { // it was stored before
			return nil, err
		}
	}
	fresh, err := s.fresh(ctx, tx, t.id, b.Entries)
	if err != nil {
		return nil, err
	}
	if err := s.insert(ctx, tx, t, fresh); err != nil {
		return nil, err
	}
	if len(fresh) > 0 {
		grown = []change{{what: store.Changed{Transcript: k, By: b.Fence}}}
	}
	summary := t.summary
	if k.Sub == "" {
		summary = storeimpl.Fold(summary, fresh...)
	}
	_, err = s.change(ctx, tx, "update claude_transcripts set next = ?, modified = {now}, summary = ? where id = ?", t.next+int64(len(fresh)), summary, t.id)
	return grown, err
}

// transcript is a row of the transcripts.
type transcript struct {
	id, next int64
	summary  []byte
}

// transcript returns the row of a transcript, which it makes if there is none. The
// session is locked.
func (s *Store) transcript(ctx context.Context, tx *sql.Tx, k store.Key) (t transcript, err error) {
	find := func() error {
		return s.row(ctx, tx, "select id, next, summary from claude_transcripts where project = ? and session = ? and sub = ?", k.Project, k.Session, k.Sub).Scan(&t.id, &t.next, &t.summary)
	}
	if err = find(); !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	if _, err := s.change(ctx, tx, "insert into claude_transcripts (project, session, sub) values (?, ?, ?)", k.Project, k.Session, k.Sub); err != nil {
		return t, err
	}
	err = find()
	return t, err
}

// uuidOf returns the id of an entry in the form that has an index: bytes, since it
// may hold any character, or nil.
func uuidOf(e store.Entry) []byte {
	if id := e.ID(); id != "" {
		return []byte(id)
	}
	return nil
}

// maxArguments is how many arguments a statement may have at most, of all
// versions of both databases.
const maxArguments = 900

// fresh returns the entries that the transcript does not have yet.
func (s *Store) fresh(ctx context.Context, tx *sql.Tx, transcript int64, entries []store.Entry) ([]store.Entry, error) {
	known := make(map[string]bool)
	args := []any{transcript}
	look := func() error {
		if len(args) == 1 {
			return nil
		}
		rows, err := tx.QueryContext(ctx, s.d.sql("select uuid from claude_entries where transcript = ? and uuid in ("+marks(len(args)-1)+")"), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id []byte
			if err := rows.Scan(&id); err != nil {
				return err
			}
			known[string(id)] = true
		}
		args = args[:1]
		return rows.Err()
	}
	for _, e := range entries {
		if id := uuidOf(e); id != nil {
			if args = append(args, id); len(args) == maxArguments {
				if err := look(); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := look(); err != nil {
		return nil, err
	}
	var fresh []store.Entry
	for _, e := range entries {
		if id := uuidOf(e); id != nil {
			if known[string(id)] {
				continue
			}
			known[string(id)] = true
		}
		fresh = append(fresh, e)
	}
	return fresh, nil
}

// marks returns question marks with commas between them.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// insert adds entries to the end of a transcript.
func (s *Store) insert(ctx context.Context, tx *sql.Tx, t transcript, entries []store.Entry) error {
	const columns = 4
	for n := t.next; len(entries) > 0; {
		some := entries[:few(entries, maxArguments/columns)]
		entries = entries[len(some):]
		args := make([]any, 0, columns*len(some))
		for _, e := range some {
			args = append(args, t.id, n, uuidOf(e), []byte(e))
			n++
		}
		rows := strings.TrimSuffix(strings.Repeat("("+marks(columns)+"),", len(some)), ",")
		if _, err := s.change(ctx, tx, "insert into claude_entries (transcript, seq, uuid, line) values "+rows, args...); err != nil {
			return err
		}
	}
	return nil
}

// few returns how many entries go into one statement: one, or more if they are not
// too large together.
func few(entries []store.Entry, most int) int {
	size := 0
	for i, e := range entries[:min(len(entries), most)] {
		if size += len(e); size > pageBytes && i > 0 {
			return i
		}
	}
	return min(len(entries), most)
}

// A page of a list or a transcript. Rows are read before they are yielded, so that
// a loop holds no connection.
const (
	pageRows  = 500
	pageBytes = 4 << 20
)

// Load implements [store.Transcripts].
func (s *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		if err := s.load(ctx, k, int64(after), yield); err != nil {
			yield(store.PlacedEntry{}, err)
		}
	}
}

func (s *Store) load(ctx context.Context, k store.Key, place int64, yield func(store.PlacedEntry, error) bool) error {
	if err := k.Check(); err != nil {
		return err
	}
	var id, end int64
	err := s.row(ctx, s.db, "select id, next from claude_transcripts where project = ? and session = ? and sub = ?", k.Project, k.Session, k.Sub).Scan(&id, &end)
	if errors.Is(err, sql.ErrNoRows) || err == nil && end == 0 {
		return fail(k, store.ErrNotFound)
	}
	if err != nil {
		return fail(k, err)
	}
	for next := max(place, 0); next < end; {
		page, err := s.page(ctx, id, next, end)
		if err != nil {
			return fail(k, err)
		}
		if len(page) == 0 { // it was deleted in the meantime
			return fail(k, store.ErrNotFound)
		}
		for _, e := range page {
			if err := ctx.Err(); err != nil {
				return fail(k, err)
			}
			next++
			if !yield(store.PlacedEntry{Entry: e, Place: store.Place(next)}, nil) {
				return nil
			}
		}
	}
	return nil
}

// page reads some entries.
func (s *Store) page(ctx context.Context, transcript, from, end int64) ([]store.Entry, error) {
	rows, err := s.db.QueryContext(ctx, s.d.sql("select seq, line from claude_entries where transcript = ? and seq >= ? and seq < ? order by seq limit ?"), transcript, from, end, pageRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []store.Entry
	size := 0
	for size < pageBytes && rows.Next() {
		var seq int64
		var line []byte
		if err := rows.Scan(&seq, &line); err != nil {
			return nil, err
		}
		if seq != from+int64(len(page)) {
			return nil, fmt.Errorf("%w: entry %d is missing", store.ErrDamaged, from+int64(len(page)))
		}
		page = append(page, line)
		size += len(line)
	}
	return page, rows.Err()
}
