package sqlstore

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// changeLog is what a store knows of the log of changes of an SQLite database. Each write adds a
// row to it, in its transaction. There is one writer at a time, so rows become visible in the
// order of their ids.
type changeLog struct {
	*database
	hub    *storeimpl.Hub
	nudge  chan struct{} // this process has written
	pruned atomic.Int64  // when the log was last shortened, in nanoseconds since 1970
}

// The times of the log.
const (
	logKept    = time.Minute
	pruneEvery = 10 * time.Second
	pollEvery  = 200 * time.Millisecond
)

// logged adds changes to the log, and removes what is old from it now and then. Of the old rows the
// last one stays: a reader that was up to date finds it, and knows that it has missed nothing.
func (l *changeLog) logged(ctx context.Context, tx *sql.Tx, project string, made []change) error {
	if len(made) == 0 {
		return nil
	}
	lines := make([]string, len(made))
	for i, c := range made {
		lines[i] = storeimpl.Text(c.what)
	}
	if _, err := l.change(ctx, tx, "insert into claude_changes (at, project, what) values ({now}, ?, ?)", project, strings.Join(lines, "\n")); err != nil {
		return err
	}
	last, now := l.pruned.Load(), time.Now()
	if now.UnixNano()-last < int64(pruneEvery) || !l.pruned.CompareAndSwap(last, now.UnixNano()) {
		return nil
	}
	_, err := l.change(ctx, tx, "delete from claude_changes where id < (select id from claude_changes where at >= {now} - ? order by id limit 1) - 1", logKept.Microseconds())
	return err
}

// look lets the reader of the log look now.
func (l *changeLog) look() {
	select {
	case l.nudge <- struct{}{}:
	default:
	}
}

// poll reads the log for the hub.
func (l *changeLog) poll(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	at := int64(0) // the last row that was read; 0: none is known to be
	for {
		next, whole, err := l.readLog(ctx, at)
		switch {
		case err != nil: // the next look finds out whether anything was missed
			at = 0
			l.hub.Deaf()
		case !whole:
			at = next
			l.hub.Missed()
		default:
			at = next
		}
		select {
		case <-l.nudge:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readLog hands what follows a row of the log to the hub, and returns the last row. It reports
// false if there may be more that is no longer in the log.
func (l *changeLog) readLog(ctx context.Context, at int64) (last int64, whole bool, err error) {
	if err := l.file.check(); err != nil {
		return 0, false, err
	}
	for at > 0 {
		changes, rows, last, err := l.logPage(ctx, at)
		if err != nil {
			return 0, false, err
		}
		if rows == 0 { // not even the row that was read last
			break
		}
		l.hub.Send(changes...)
		if at = last; rows < pageRows {
			return at, true, nil
		}
	}
	err = l.row(ctx, l.db, "select coalesce(max(id), 0) from claude_changes").Scan(&last)
	return last, false, err
}

// logPage reads a page of the log, from a row on that was read before. If that is gone, it
// returns no rows.
func (l *changeLog) logPage(ctx context.Context, at int64) (changes []store.Changed, n int, last int64, err error) {
	rows, err := l.db.QueryContext(ctx, "select id, project, what from claude_changes where id >= ? order by id limit ?", at, pageRows)
	if err != nil {
		return nil, 0, 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var project, what string
		if err := rows.Scan(&last, &project, &what); err != nil {
			return nil, 0, 0, err
		}
		if n == 0 {
			if last != at {
				return nil, 0, 0, nil
			}
			continue
		}
		for line := range strings.SplitSeq(what, "\n") {
			c, err := storeimpl.ParseText(project, line)
			if err != nil { // of a newer program: something has changed
				return nil, 0, 0, nil
			}
			changes = append(changes, c)
		}
	}
	return changes, n, last, rows.Err()
}
