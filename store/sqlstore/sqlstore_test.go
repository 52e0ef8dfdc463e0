package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/sqlstore"
	"github.com/claude-agent-go/claude/store/storetest"
)

// open opens a store that is closed at the end of the test.
func open(t *testing.T, source string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// contract holds the store of a data source to the contract.
func contract(t *testing.T, source string) {
	storetest.Run(t, storetest.Target{
		Open:    func(t *testing.T) store.Fleet { return open(t, source) },
		Again:   func(t *testing.T, _ store.Fleet) store.Fleet { return open(t, source) },
		Process: func(*testing.T, store.Fleet) *exec.Cmd { return other(source) },
	})
}

// other is another process with a store of the same data.
func other(source string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+source)
	return cmd
}

// TestMain lets the test binary be the other process of a test.
func TestMain(m *testing.M) {
	source := os.Getenv("STORE_TEST_OWN")
	if source == "" {
		os.Exit(m.Run())
	}
	s, err := sqlstore.Open(context.Background(), source)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv("STORE_TEST_CRASH") != "" {
		crash(s)
	}
	if realstore.Owner() {
		os.Exit(realstore.Own(s))
	}
	os.Exit(storetest.Own(s))
}

// wrapped holds stores that wrap the store of a data source to the contract.
func wrapped(t *testing.T, source string) {
	storetest.RunWrapped(t, storetest.Target{
		Open:  func(t *testing.T) store.Fleet { return open(t, source) },
		Again: func(t *testing.T, _ store.Fleet) store.Fleet { return open(t, source) },
	})
}

func TestSQLiteWrapped(t *testing.T) {
	t.Parallel()
	long.Test(t, "tests the whole contract twice more")
	wrapped(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
}

func TestPostgresWrapped(t *testing.T) {
	t.Parallel()
	wrapped(t, server.Postgres(t, 18)) // on the long level, like each server
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	contract(t, "sqlite:"+filepath.Join(t.TempDir(), "a b%#.db"))
}

func TestPostgres15(t *testing.T) {
	t.Parallel()
	contract(t, server.Postgres(t, 15))
}

func TestPostgres18(t *testing.T) {
	t.Parallel()
	contract(t, server.Postgres(t, 18))
}

func TestOpenRefuses(t *testing.T) {
	for _, source := range []string{"", "agents.db", "mysql://root:hunter2@localhost/x", "sqlite:", "sqlite::memory:", "sqlite:x?mode=ro"} {
		s, err := sqlstore.Open(t.Context(), source)
		if !errors.Is(err, sqlstore.ErrScheme) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v", source, s, err)
		}
	}
	for _, source := range []string{"postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=2", "postgres://u:hunter2@127.0.0.1:x/y"} {
		if _, err := sqlstore.Open(t.Context(), source); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", source, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing", "s.db")
	if _, err := sqlstore.Open(t.Context(), "sqlite:"+missing); err == nil {
		t.Error("a file in a folder that does not exist is opened")
	}
}

// Many open an empty database at once, and one of them makes the tables.
func TestOpenAtOnce(t *testing.T) {
	for name, source := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "s.db"), "Postgres": server.Postgres(t, 15)} {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					s, err := sqlstore.Open(t.Context(), source)
					if err != nil {
						t.Error(err)
						return
					}
					s.Close()
				})
			}
			wg.Wait()
		})
	}
}

func TestNewerTables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	open(t, "sqlite:"+file)
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "insert into claude_schema values (1000)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(t.Context(), "sqlite:"+file); !errors.Is(err, sqlstore.ErrNewer) {
		t.Errorf("Open = %v", err)
	}
}

func TestPrune(t *testing.T) { prune(t, "sqlite:"+filepath.Join(t.TempDir(), "s.db")) }

func TestPrunePostgres(t *testing.T) { prune(t, server.Postgres(t, 15)) }

// prune checks that Prune deletes the sessions of a data source that have had no
// recent append, and no others.
func prune(t *testing.T, source string) {
	s := open(t, source)
	key := func(n int) store.Key {
		return store.Key{Project: "p", Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
	}
	put := func(k store.Key) {
		if err := s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{[]byte(`{"type":"tag"}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		put(key(n))
	}
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for later := now; !later.After(now.Add(2 * time.Millisecond)); {
		if later, err = s.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(key(1)) // again
	sub := key(2)
	sub.Sub = "subagents/agent-1"
	put(sub) // a sub-agent counts
	n, err := s.Prune(t.Context(), "p", now.Add(time.Millisecond))
	if err != nil || n != 1 {
		t.Errorf("Prune = %d, %v", n, err)
	}
	var left []string
	for item, err := range s.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, item.Session[35:])
	}
	if got := strings.Join(left, " "); got != "1 2" {
		t.Errorf("left: %s", got)
	}
	if n, err := s.Prune(t.Context(), "other", now.Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("Prune of another project = %d, %v", n, err)
	}
}

// Both databases are measured with commits that are synced to the disk.
func BenchmarkAppend(b *testing.B) {
	for _, db := range []struct {
		name   string
		source func(b *testing.B) string
	}{
		{"SQLite", func(b *testing.B) string { return "sqlite:" + filepath.Join(b.TempDir(), "s.db") }},
		{"Postgres18", func(b *testing.B) string { return server.DurablePostgres(b, 18) }},
	} {
		b.Run(db.name, func(b *testing.B) {
			s, err := sqlstore.Open(b.Context(), db.source(b))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			storetest.BenchmarkAppend(b, s)
		})
	}
}
