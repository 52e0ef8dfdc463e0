package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
)

func openFileStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// makeRecord makes a record.
func makeRecord(t *testing.T, s *Store, name string) int64 {
	t.Helper()
	next, err := s.Change(t.Context(), store.Fence{}, store.RecordChange{Key: store.RecordKey{Project: "p", Kind: "k", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return next[0]
}

// A reader of the log that is up to date misses nothing when old rows go, however long nothing
// was written. One that comes too late knows it.
func TestLogIsShortened(t *testing.T) {
	s := openFileStore(t)
	exec := func(text string) {
		t.Helper()
		if _, err := s.db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	read := func(at int64) (int64, bool) {
		t.Helper()
		last, whole, err := s.log.readLog(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return last, whole
	}
	begin, whole := read(0)
	if begin != 1 || whole {
		t.Fatalf("the log begins at %d, %v", begin, whole)
	}
	exec(fmt.Sprintf(`insert into claude_changes (at, project, what) with recursive n (i) as (select 1 union all select i + 1 from n where i < %d)
		select %s, 'p', 'record k n ' || i || ' - 0' from n`, 2*pageRows+10, s.d.sql("{now}")))
	last, whole := read(begin)
	if want := begin + 2*pageRows + 10; !whole || last != want {
		t.Fatalf("the log ends at %d, %v; want %d", last, whole, want)
	}
	rows := func() (n int) {
		t.Helper()
		if err := s.db.QueryRowContext(t.Context(), "select count(*) from claude_changes").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := rows()
	exec("update claude_changes set at = at - 61000000") // a minute and a second ago
	makeRecord(t, s, "not-yet")
	if n := rows(); n != before+1 {
		t.Errorf("%d rows are left of %d, although the log was just looked at", n, before)
	}
	s.log.pruned.Store(0)
	makeRecord(t, s, "now")
	if n := rows(); n != 3 {
		t.Errorf("%d rows are left, want the new ones and the last of the old ones", n)
	}
	if next, whole := read(last); !whole || next != last+2 {
		t.Errorf("who was up to date reads up to %d, %v", next, whole)
	}
	if next, whole := read(last - 1); whole || next != last+2 {
		t.Errorf("who was not reads up to %d, %v", next, whole)
	}
	exec("insert into claude_changes (at, project, what) values (1, 'p', 'thing of a newer program')")
	if next, whole := read(last + 2); whole || next != last+3 {
		t.Errorf("what cannot be read: up to %d, %v", next, whole)
	}
}

// loop watches a store in a bubble: what it yields is the names of records, "" for the zero.
func loop(t *testing.T, s *Store) (taken func() []string, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var names []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range s.Watch(ctx, "p") {
			if err != nil {
				t.Error(err)
			}
			names = append(names, c.Record.Name)
		}
	}()
	taken = func() []string {
		<-time.After(2 * pollEvery)
		synctest.Wait()
		got := names
		names = nil
		return got
	}
	return taken, func() { cancel(); <-done }
}

// While the file of a database is away, a reader waits. When it is back, the reader looks at
// everything.
func TestWatchMovedAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a file that is open cannot be moved there
	}
	at := filepath.Join(t.TempDir(), "s.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), "sqlite:"+at)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		taken, stop := loop(t, s)
		defer stop()
		wants := func(what string, want ...string) {
			t.Helper()
			if got := taken(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		wants("at first", "")
		makeRecord(t, s, "1")
		wants("a change", "1")
		if err := os.Rename(at, at+".away"); err != nil {
			t.Fatal(err)
		}
		wants("while it is away")
		late, stopLate := loop(t, s)
		defer stopLate()
		if got := late(); len(got) > 0 {
			t.Errorf("a new loop while it is away: %q", got)
		}
		if err := os.Rename(at+".away", at); err != nil {
			t.Fatal(err)
		}
		wants("when it is back", "")
		if got := late(); !slices.Equal(got, []string{""}) {
			t.Errorf("the new loop when it is back: %q", got)
		}
		makeRecord(t, s, "2")
		wants("a change after that", "2")
	})
}

// A change of this process is read at once: without a tick of the clock, which stands still in a
// bubble while anything can happen.
func TestWatchOwnAtOnce(t *testing.T) {
	at := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		begin := time.Now()
		for c, err := range s.Watch(t.Context(), "p") {
			if err != nil {
				t.Fatal(err)
			}
			if c.Record.Name == "one" {
				break
			}
			makeRecord(t, s, "one")
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("it comes after %v", took)
		}
	})
}

// A database that the first version made is brought up to date in place, with all that is in it.
func TestUpgrade(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "version1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "s.db")
	db, err := sql.Open("sqlite", at)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), string(text))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	upgraded(t, "sqlite:"+at)
}

// The same with Postgres, whose first tables are made by the first step.
func TestUpgradePostgres(t *testing.T) {
	source := server.Postgres(t, 15)
	db, err := sql.Open("pgx", source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const id = "'00000000-0000-4000-8000-00000000000"
	steps := append([]string{"create table claude_schema (version bigint not null)"}, migrations()[0]...)
	steps = append(steps, "insert into claude_schema values (1)",
		"insert into claude_transcripts (project, session, sub, next, modified, summary) values ('p', "+id+"1', '', 2, 1, '{}'), ('p', "+id+"1', 'subagents/agent-1', 2, 1, null)",
		`insert into claude_entries select t.id, n, null, case n when 0 then '{"type":"user","uuid":"1"}'::bytea else '{"type":"tag"}'::bytea end from claude_transcripts t, generate_series(0, 1) n`,
		"insert into claude_deleted values ('p', "+id+"2')",
		"insert into claude_leases values ('p', 'l', 'me', 1, 0)",
		"insert into claude_records values ('p', 'k', 'a/b', nextval('claude_revisions') + nextval('claude_revisions') - 1, '2')")
	for _, text := range steps {
		if _, err := db.ExecContext(t.Context(), postgres().sql(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	upgraded(t, source)
}

// upgraded opens a database of the first version, and wants all of it and a watch.
func upgraded(t *testing.T, source string) {
	t.Helper()
	for range 2 { // the second time it is up to date
		s, err := Open(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
		for _, k := range []store.Key{k, {Project: "p", Session: k.Session, Sub: "subagents/agent-1"}} {
			n := 0
			for _, err := range s.Load(t.Context(), k, 0) {
				if n++; err != nil {
					t.Fatal(err)
				}
			}
			if n != 2 {
				t.Errorf("%v has %d entries", k, n)
			}
		}
		k.Session = "00000000-0000-4000-8000-000000000002"
		if err := s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{store.Entry("{}")}}); err == nil {
			t.Error("a deleted session comes back")
		}
		if l, err := s.Acquire(t.Context(), "p", "l", "you", time.Minute); err != nil || l.Token < 2 {
			t.Errorf("the lease: %+v, %v", l, err)
		} else if err := s.Release(t.Context(), l); err != nil {
			t.Error(err)
		}
		rk := store.RecordKey{Project: "p", Kind: "k", Name: "a/b"}
		found, err := s.View(t.Context(), store.View{Keys: []store.RecordKey{rk}})
		if err != nil || len(found) != 1 || string(found[0].Value) != "2" || found[0].Revision < 2 {
			t.Fatalf("the record: %+v, %v", found, err)
		}
		first := true
		for c, err := range s.Watch(t.Context(), "p") {
			if err != nil {
				t.Fatal(err)
			}
			if c.Record == rk && c.Revision > found[0].Revision {
				break
			}
			if first {
				first = false
				if _, err := s.Change(t.Context(), store.Fence{}, store.RecordChange{Key: rk, Value: []byte("2"), Revision: found[0].Revision}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
