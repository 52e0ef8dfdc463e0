package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// keepsQuestions is a store in which questions cannot be erased for a while.
type keepsQuestions struct {
	*store.MemoryStore
	keeps atomic.Bool
}

var errKept = errors.New("the question stays")

func (s *keepsQuestions) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if s.keeps.Load() && c[0].Key.Kind == "question" && strings.Contains(string(c[0].Value), `"input":null`) {
		return nil, errKept
	}
	return s.MemoryStore.Change(ctx, f, c...)
}

// A deletion that could not erase what a question shows fails, and the next one
// erases it.
func TestDeleteFailsWithItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &keepsQuestions{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Minute} })
		defer closeFleet(t, f)
		send(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		if q := question(t, f); string(q.Input) == "null" {
			t.Fatalf("the question is %+v", q)
		}
		db.keeps.Store(true)
		if err := f.Delete(t.Context(), "ada"); !errors.Is(err, errKept) {
			t.Errorf("Delete = %v, although its question is not erased", err)
		}
		if q := question(t, f); string(q.Input) == "null" {
			t.Errorf("the question was erased: %+v", q)
		}
		db.keeps.Store(false)
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Errorf("the second Delete = %v", err)
		}
		if got := left(t, db); len(got) > 0 {
			t.Errorf("left are %q", got)
		}
		for q, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
			if err != nil || string(q.Input) != "null" {
				t.Errorf("the question still shows %s, %v", q.Input, err)
			}
		}
	})
}

// Delete also erases the sessions that were begun before anything was stored of them: their
// checkpoints and journals on this machine, and lines that came late.
func TestDeleteErasesUnstoredSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		config, journals := t.TempDir(), t.TempDir()
		var refused atomic.Bool
		options := func(o *fleet.Options) {
			o.Journal = journals
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				own, err := usual(ctx, key)
				own.Env = append(own.Env, "CLAUDE_CONFIG_DIR="+config)
				if refused.Load() {
					err = errors.Join(err, fleet.ErrDeleted)
				}
				return own, err
			}
		}
		m := start(t, db, cli, options)
		m.fails("Append")
		send(t, m.fleet, "ada", "hello")
		<-time.After(time.Second)
		crash(t, m)
		m = start(t, db, cli, options)
		defer func() { closeFleet(t, m.fleet) }()
		<-time.After(2 * time.Minute)
		r, err := store.Get(t.Context(), db, store.RecordKey{Project: "p", Kind: "conversation", Name: "c/ada"})
		var rec struct{ Unstored []string }
		if err == nil {
			err = json.Unmarshal(r.Value, &rec)
		}
		if err != nil || len(rec.Unstored) != 1 {
			t.Fatalf("the conversation is %s, %v", r.Value, err)
		}
		lost := rec.Unstored[0]
		checkpoints, journal := filepath.Join(config, "file-history", lost), filepath.Join(journals, lost+"-1.journal")
		late := store.Batch{ID: "late", Entries: []store.Entry{store.Entry(`{"type":"user"}`)}}
		if err := errors.Join(os.MkdirAll(checkpoints, 0o700), os.WriteFile(journal, nil, 0o600), db.Append(t.Context(), store.Key{Project: "p", Session: lost}, late)); err != nil {
			t.Fatal(err)
		}
		refused.Store(true) // as a server does with what it deletes: the folders are those of the options nevertheless
		if err := m.fleet.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if got := left(t, db); len(got) > 0 {
			t.Errorf("left are %q", got)
		}
		for _, path := range []string{checkpoints, journal} {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", filepath.Base(path), err)
			}
		}
	})
}
