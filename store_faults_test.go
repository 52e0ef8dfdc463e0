package claude_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

var storeSeeds = flag.Int("store-seeds", long.Pick(15, 50), "how many seeded sessions with stores whose calls go wrong")

// TestStoreFaults plays whole sessions with a store whose every call may fail, time
// out, succeed and report a failure, happen twice or late: the lease, the entries,
// and the list and load of a resume. Nothing is lost, doubled or out of order, a
// session is resumed whole or not at all, and a program can recognise every
// failure.
func TestStoreFaults(t *testing.T) {
	for seed := range *storeSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playStoreFaults(t, uint64(seed)) })
		})
	}
}

// faultySession is a session of several processes, with one store.
type faultySession struct {
	t      *testing.T
	mem    *store.MemoryStore
	faults *storefault.Store
	opts   *claude.Options
	turns  int // that were played
	launch *double
}

func playStoreFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	f := &faultySession{t: t, mem: store.Memory()}
	f.faults = storefault.Wrap(f.mem, storefault.Seeded(seed, random.Float64()/2))
	f.opts = &claude.Options{
		Logger: harness.Logger(t), SessionID: mainKey.Session, Env: []string{"HOME=" + t.TempDir()},
		Store: &claude.StoreOptions{Store: f.faults, Project: mainKey.Project, Owner: "test", Journal: t.TempDir()},
	}
	if random.IntN(2) == 0 {
		f.opts.Store.Flush = store.Eventually
	}
	f.process(1 + random.IntN(3))
	for range 1 + random.IntN(2) {
		f.opts.SessionID, f.opts.Resume, f.opts.Continue = "", mainKey.Session, false
		if random.IntN(2) == 0 {
			f.opts.Resume, f.opts.Continue = "", true
		}
		f.process(1 + random.IntN(3))
	}
}

// process runs a session with some turns. Entries that it could not store are
// imported, as a person would do.
func (f *faultySession) process(turns int) {
	before := turnEntries(f.turns)
	s := f.connect(turns)
	if f.turns > 0 {
		f.wantRestored(before)
	}
	for range turns {
		if res, err := s.Ask(f.t.Context(), "hello"); res == nil || err != nil && !errors.Is(err, store.ErrNotStored) {
			f.t.Fatalf("Ask = %v, %v", res, err)
		}
	}
	f.turns += turns
	err := s.Close()
	f.faults.Settle()
	if missing, ok := errors.AsType[*store.NotStoredError](err); ok {
		if _, err := store.ImportJournal(f.t.Context(), f.mem, missing.Journal, store.Fence{}); err != nil {
			f.t.Fatal(err)
		}
		if err := os.Remove(missing.Journal); err != nil {
			f.t.Fatal(err)
		}
	} else if err != nil {
		f.t.Fatal(err)
	}
	if got, want := stored(f.t, f.mem, mainKey), turnEntries(f.turns); !slices.Equal(got, want) {
		f.t.Fatalf("after %d turns the store has\n%s\nwant\n%s", f.turns, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left, _ := os.ReadDir(f.opts.Store.Journal); len(left) > 0 {
		f.t.Errorf("%v is left although everything is stored", left)
	}
}

// connect starts a process, however often the store refuses.
func (f *faultySession) connect(turns int) *claude.Session {
	first := f.turns
	for begin := time.Now(); ; pass(time.Second) {
		f.launch = &double{t: f.t, play: func(c *cli) {
			c.greet()
			for n := range turns {
				c.mirroredTurn(first + n)
			}
			c.idle()
		}}
		f.opts.Transport = f.launch
		s, err := claude.Connect(f.t.Context(), f.opts)
		if err == nil {
			return s
		}
		if !errors.Is(err, claude.ErrStore) || !errors.Is(err, storefault.ErrFault) && !errors.Is(err, store.ErrLeased) || time.Since(begin) > time.Hour {
			f.t.Fatalf("after %v: Connect = %v", time.Since(begin), err)
		}
	}
}

// wantRestored wants the CLI to have been given the whole session.
func (f *faultySession) wantRestored(want []string) {
	for _, entry := range f.launch.launch.Env {
		dir, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR=")
		if !ok {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(dir, "projects", "*", mainKey.Session+".jsonl"))
		if len(found) != 1 || readFile(found[0]) != strings.Join(want, "\n")+"\n" {
			f.t.Fatalf("the CLI is given %q, want %d lines", found, len(want))
		}
		return
	}
	f.t.Fatal("the CLI has no configuration directory of its own")
}
