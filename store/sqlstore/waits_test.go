package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
)

// hold keeps every writer of a lease waiting, as a process does that was stopped in
// the middle of a write. It returns how to let go.
func hold(t *testing.T, kind, source string) (release func()) {
	t.Helper()
	open, dsn := "pgx", source
	if kind == "SQLite" {
		open, dsn = "sqlite", "file:"+strings.TrimPrefix(source, "sqlite:")+"?_txlock=immediate"
	}
	db, err := sql.Open(open, dsn)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "SQLite" {
		rows, err := tx.QueryContext(t.Context(), "select token from claude_leases where project = 'p' for share")
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	release = func() { tx.Rollback(); db.Close() }
	t.Cleanup(release)
	return release
}

// A call ends with its context while another writer is stopped, and a lease lasts
// as long as it should from when the wait was over.
func TestWaits(t *testing.T) {
	for kind, source := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "s.db"), "Postgres": server.Postgres(t, 15)} {
		t.Run(kind, func(t *testing.T) {
			s := open(t, source)
			lease, err := s.Acquire(t.Context(), "p", "c", "me", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			release := hold(t, kind, source)
			begin := time.Now()
			if open(t, source); time.Since(begin) > 10*time.Second {
				t.Errorf("Open waits for %v", time.Since(begin))
			}
			for name, call := range map[string]func(context.Context) error{
				"Acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, "p", "c", "you", time.Minute); return err },
				"Renew":   func(ctx context.Context) error { return s.Renew(ctx, lease) },
				"Release": func(ctx context.Context) error { return s.Release(ctx, lease) },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				begin := time.Now()
				err := call(ctx)
				cancel()
				if took := time.Since(begin); err == nil || errors.Is(err, store.ErrLeased) || took > 10*time.Second {
					t.Errorf("%s: %v after %v", name, err, took)
				}
			}
			// The wait takes a part of the time to live, which is not lost.
			done := make(chan error)
			begin = time.Now()
			go func() { done <- s.Renew(t.Context(), lease) }()
			const wait = 1500 * time.Millisecond
			time.AfterFunc(wait, release)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if time.Since(begin) < wait {
				t.Fatal("Renew did not wait: the test shows nothing")
			}
			ended := time.Now()
			_, err = s.Acquire(t.Context(), "p", "c", "you", time.Minute)
			held, ok := errors.AsType[*store.HeldError](err)
			if !ok || held.For+time.Since(ended) < lease.TTL-50*time.Millisecond {
				t.Errorf("after Renew, Acquire = %v", err)
			}
		})
	}
}

// A sender of a prompt, while another process holds the lock of the database,
// learns in time that it may have been accepted, and how to send it again.
func TestSendWhileLocked(t *testing.T) {
	t.Parallel()
	source := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	client := func(patience time.Duration) *fleet.Fleet {
		f, err := fleet.Open(t.Context(), fleet.Options{Store: open(t, source), Project: "p", MaxLive: fleet.NoCLIs, StoreTimeout: patience, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close(context.Background()) })
		return f
	}
	f, hasty := client(time.Minute), client(200*time.Millisecond)
	if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	release := hold(t, "SQLite", source)
	begin := time.Now()
	_, err := hasty.Send(t.Context(), "ada", fleet.Prompt{Text: "two"})
	doubt, ok := errors.AsType[*fleet.InDoubtError](err)
	if took := time.Since(begin); !ok || !errors.Is(err, fleet.ErrTimeout) || took > 20*time.Second {
		t.Fatalf("%v after %v", err, took)
	}
	release()
	if id, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: doubt.Prompt, Text: "two"}); err != nil || id != doubt.Prompt {
		t.Errorf("sent again: %s, %v", id, err)
	}
	if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 2 {
		t.Errorf("%d prompts wait, want 2 (%v)", info.Queued, err)
	}
}
