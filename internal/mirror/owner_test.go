package mirror

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A session that another owner holds is left at once, even if it is not known
// whether an earlier attempt succeeded: nothing waits until that lease expires.
func TestEndsForAnotherOwner(t *testing.T) {
	for _, doubtful := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			s := &faulty{MemoryStore: store.Memory(), fault: func(op string) kind {
				if op == "acquire" {
					if attempts++; attempts == 1 && doubtful {
						return before
					}
				}
				return none
			}}
			if _, err := s.MemoryStore.Acquire(t.Context(), "p", session, "another", time.Hour); err != nil {
				t.Fatal(err)
			}
			cfg := config(s, t.TempDir())
			var lost error
			cfg.OnLost = func(err error) { lost = err }
			m := New(cfg)
			m.Start()
			begin := time.Now()
			m.Put(frame("", `{"uuid":"1"}`))
			err := m.Wait(t.Context(), 1)
			synctest.Wait()
			if !errors.Is(err, store.ErrLeased) || !errors.Is(lost, store.ErrLeased) || time.Since(begin) > 10*time.Second {
				t.Errorf("in doubt %v: Wait = %v, lost %v, after %v and %d attempts", doubtful, err, lost, time.Since(begin), attempts)
			}
			if err := m.Close(t.Context()); !errors.Is(err, store.ErrNotStored) {
				t.Errorf("Close = %v", err)
			}
			if got := load(t, s, ""); len(got) != 0 {
				t.Errorf("stored without the lease: %q", got)
			}
		})
	}
}

// deaf is a store that stores what it was given whether anyone waits or not. It has
// no leases, so nothing refuses what comes late.
type deaf struct {
	store.Basic
	to store.Transcripts
}

func (d deaf) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return d.to.Append(context.WithoutCancel(ctx), k, b)
}

// A journal that an error names stays, even if the store takes its batches later: who
// got the error will look for it.
func TestNamedJournalStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		s := &faulty{MemoryStore: store.Memory(), fault: func(op string) kind {
			if op == "append" && calls == 1 {
				return before
			}
			return none
		}, delay: func(op string) {
			if op != "append" {
				return
			}
			if calls++; calls == 2 {
				<-release
			}
		}}
		m := New(config(deaf{to: s}, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		if err := m.Wait(t.Context(), 1); !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Wait = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		missing, ok := errors.AsType[*store.NotStoredError](m.Close(ctx))
		if !ok || missing.Journal == "" {
			t.Fatalf("Close = %v", missing)
		}
		close(release)
		synctest.Wait()
		if got := load(t, s, ""); len(got) != 1 {
			t.Fatalf("stored late: %q", got)
		}
		if _, err := os.Stat(missing.Journal); err != nil {
			t.Errorf("the journal that Close named is gone: %v", err)
		}
		if n, err := store.ImportJournal(t.Context(), s.MemoryStore, missing.Journal, store.Fence{}); n != 1 || err != nil {
			t.Errorf("ImportJournal = %d, %v", n, err)
		}
		if got := load(t, s, ""); len(got) != 1 {
			t.Errorf("stored %q", got)
		}
	})
}

// A batch that is refused because the lease is lost ends the mirror at once, before
// the next renewal.
func TestRefusedBatchEndsMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		cfg := config(s, t.TempDir())
		cfg.TTL = time.Hour
		m := New(cfg)
		if err := m.Acquire(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		m.Start()
		if err := s.Release(t.Context(), m.leases.all()[0].Lease); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Acquire(t.Context(), "p", session, "another", time.Hour); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		m.Put(frame("", `{"uuid":"1"}`))
		if err := m.Wait(t.Context(), 1); !errors.Is(err, store.ErrLeaseLost) || time.Since(begin) > 10*time.Second {
			t.Errorf("Wait = %v after %v", err, time.Since(begin))
		}
		_ = m.Close(t.Context()) // reports that it is not stored
	})
}

// invalid is a store that never takes what it gets.
type invalid struct {
	store.Sessions
	err error
}

func (i invalid) Append(context.Context, store.Key, store.Batch) error { return i.err }

// A batch that can never be stored is given up at once, and reported once, however often
// it is tried.
func TestInvalidBatchGivenUp(t *testing.T) {
	for _, why := range []error{store.ErrInvalid, &store.KeyError{Part: "sub", Value: "x", Reason: "too long"}} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(invalid{store.Memory(), why}, t.TempDir())
			var reports atomic.Int32
			cfg.OnNotStored = func(store.Key, *store.NotStoredError) { reports.Add(1) }
			m := New(cfg)
			m.Start()
			begin := time.Now()
			m.Put(frame("", `{"uuid":"1"}`))
			if err := m.Wait(t.Context(), 1); !errors.Is(err, why) || time.Since(begin) > 10*time.Second {
				t.Errorf("Wait = %v after %v", err, time.Since(begin))
			}
			<-time.After(5 * maxPause)
			if n := reports.Load(); n != 1 {
				t.Errorf("it was reported %d times", n)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_ = m.Close(ctx) // reports the same
		})
	}
}

// Closing a mirror releases its lease: the next owner need not wait.
func TestCloseGivesLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		m := New(config(s, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Acquire(t.Context(), "p", session, "another", time.Hour); err != nil {
			t.Errorf("the next owner: %v", err)
		}
	})
}
