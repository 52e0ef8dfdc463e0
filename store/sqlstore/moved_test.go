package sqlstore_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/sqlstore"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Writes to a database whose file was moved away would never be found, so none is
// made: no record, no entry, no lease, and no prompt is accepted. When the file is
// back, everything works again.
func TestMovedAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be moved")
	}
	t.Parallel()
	at := filepath.Join(t.TempDir(), "s.db")
	s := open(t, "sqlite:"+at)
	f, err := fleet.Open(t.Context(), fleet.Options{Store: s, Project: "p", MaxLive: fleet.NoCLIs, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(context.Background())
	k := store.RecordKey{Project: "p", Kind: "k", Name: "n"}
	calls := map[string]func() error{
		"PutRecord": func() error { _, err := store.Put(t.Context(), s, k, nil, 0, store.Fence{}); return err },
		"Acquire":   func() error { _, err := s.Acquire(t.Context(), "p", "c", "me", time.Minute); return err },
		"Append": func() error {
			return s.Append(t.Context(), store.Key{Project: "p", Session: "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11"}, store.Batch{ID: storeimpl.NewBatchID(), Entries: []store.Entry{store.Entry(`{}`)}})
		},
		"Delete": func() error {
			return s.Delete(t.Context(), store.Key{Project: "p", Session: "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a12"}, store.Fence{})
		},
		"Send": func() error { _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "one"}); return err },
	}
	for how, replace := range map[string]func() error{
		"moved":    func() error { return os.Rename(at, at+".old") },
		"replaced": func() error { return errors.Join(os.Rename(at, at+".old"), os.WriteFile(at, nil, 0o600)) },
	} {
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, sqlstore.ErrMoved) {
				t.Errorf("%s, file %s: %v", name, how, err)
			}
		}
		if how == "moved" {
			if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("somebody has made another database: %v", err)
			}
		}
		if err := os.Rename(at+".old", at); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s, file back: %v", name, err)
		}
	}
}
