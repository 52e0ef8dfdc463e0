package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// noted is a store that notes under which fence each batch comes, and what it holds.
type noted struct {
	*store.MemoryStore
	mu      sync.Mutex // of what Append notes
	fences  []store.Fence
	batches []store.Batch
	bounds  []time.Duration // for which each call may last
	renew   func() error
}

func (n *noted) Append(ctx context.Context, k store.Key, b store.Batch) error {
	n.mu.Lock()
	n.fences, n.batches = append(n.fences, b.Fence), append(n.batches, b)
	end, _ := ctx.Deadline()
	n.bounds = append(n.bounds, time.Until(end))
	n.mu.Unlock()
	return n.MemoryStore.Append(ctx, k, b)
}

// count is how many batches were stored.
func (n *noted) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.batches)
}

func (n *noted) Renew(ctx context.Context, l store.Lease) error {
	if n.renew != nil {
		if err := n.renew(); err != nil {
			return err
		}
	}
	return n.MemoryStore.Renew(ctx, l)
}

// Every batch carries a fence: the caller's, or that of the mirror's own lease, which is
// acquired once for a session.
func TestEveryBatchIsFenced(t *testing.T) {
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &noted{MemoryStore: store.Memory()}
			cfg := config(s, t.TempDir())
			if !own {
				lease, err := s.Acquire(t.Context(), "p", "mine", "caller", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Fence = lease.Fence
			}
			m := New(cfg)
			m.Start()
			for n := range 3 {
				m.Put(frame("", fmt.Sprintf(`{"uuid":"%d"}`, n)))
				m.Put(frame("subagents/agent-1", fmt.Sprintf(`{"uuid":"s%d"}`, n)))
				if err := m.Wait(t.Context(), m.Count()); err != nil {
					t.Fatal(err)
				}
			}
			want := cfg.Fence
			if own {
				want = store.Fence{Project: "p", Name: session, Token: 1}
			}
			if len(s.fences) != 6 || slices.ContainsFunc(s.fences, func(f store.Fence) bool { return f != want }) {
				t.Errorf("own leases %v: the fences %+v, want %+v", own, s.fences, want)
			}
			for _, d := range s.bounds {
				if d <= 0 || d > callBound {
					t.Errorf("a call may last %v", d)
				}
			}
			ids := make(map[string]bool)
			for _, b := range s.batches {
				ids[b.ID] = true
			}
			if len(ids) != 6 || ids[""] {
				t.Errorf("the ids of batches: %v", ids)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
			// Its own lease is free then; the caller releases the caller's.
			_, err := s.Acquire(t.Context(), "p", session, "next", time.Hour)
			_, callers := s.Acquire(t.Context(), "p", "mine", "next", time.Hour)
			if err != nil || errors.Is(callers, store.ErrLeased) == own {
				t.Errorf("own leases %v: after the end %v, %v", own, err, callers)
			}
		})
	}
}

// Owned waits while a lease is in doubt, and returns with the renewal that ends the doubt,
// with its context, or with the loss of the lease.
func TestOwnedWaitsForRenewal(t *testing.T) {
	for name, how := range map[string]error{"renewed": nil, "lost": store.ErrLeaseLost, "given up": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				down.Store(true)
				s := &noted{MemoryStore: store.Memory()}
				s.renew = func() error {
					switch {
					case down.Load():
						return errFault
					case how == store.ErrLeaseLost:
						return store.ErrLeaseLost
					}
					return nil
				}
				var lost atomic.Int32
				cfg := config(s, t.TempDir())
				cfg.OnLost = func(error) { lost.Add(1) }
				m := New(cfg)
				if err := m.Acquire(t.Context(), session); err != nil {
					t.Fatal(err)
				}
				m.Start()
				if err := m.Owned(t.Context()); err != nil {
					t.Errorf("just acquired: %v", err)
				}
				<-time.After(cfg.TTL) // nothing was renewed
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				owned := make(chan error, 1)
				go func() { owned <- m.Owned(ctx) }()
				synctest.Wait()
				if len(owned) > 0 {
					t.Fatalf("owned without a renewal: %v", <-owned)
				}
				begin := time.Now()
				if down.Store(how == context.Canceled); down.Load() {
					cancel()
				}
				if err := <-owned; !errors.Is(err, how) || (err == nil) != (how == nil) || time.Since(begin) > cfg.TTL {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
				synctest.Wait()
				if (lost.Load() == 1) != (how == store.ErrLeaseLost) {
					t.Errorf("told %d times that it is lost", lost.Load())
				}
				_ = m.Close(t.Context()) // its lease is lost in one of the cases
			})
		})
	}
}

// A renewal that failed is tried again soon, well before the lease expires; after one that
// succeeded the usual period holds again.
func TestFailedRenewalIsRepeatedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &noted{MemoryStore: store.Memory()}
		var at []time.Duration
		begin := time.Now()
		s.renew = func() error {
			if at = append(at, time.Since(begin)); len(at) <= 2 {
				return errFault
			}
			return nil
		}
		cfg := config(s, t.TempDir())
		m := New(cfg)
		if err := m.Acquire(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		m.Start()
		<-time.After(cfg.TTL)
		synctest.Wait()
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := []time.Duration{10 * time.Second, 13 * time.Second, 16 * time.Second, 26 * time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("renewed after %v, want %v", at, want)
		}
	})
}

// A mirror without leases, or with that of its caller, is always owned, and acquires
// nothing.
func TestOwnedWithoutLeases(t *testing.T) {
	s := &noted{MemoryStore: store.Memory()}
	cfg := config(s, t.TempDir())
	cfg.Fence = store.Fence{Project: "p", Name: "mine", Token: 1}
	for _, cfg := range []Config{cfg, config(struct{ store.Basic }{}, t.TempDir())} {
		m := New(cfg)
		m.Start()
		if err := errors.Join(m.Acquire(t.Context(), session), m.Owned(t.Context()), m.Close(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Acquire(t.Context(), "p", session, "other", time.Hour); err != nil {
		t.Errorf("the session was leased: %v", err)
	}
}

// Frames that are hurried, or awaited, are stored at once, and the others when a little
// time has passed.
func TestHurryStoresAtOnce(t *testing.T) {
	for name, wait := range map[string]time.Duration{"hurry": 0, "nothing": gatherFor} {
		synctest.Test(t, func(t *testing.T) {
			s := &noted{MemoryStore: store.Memory()}
			m := New(config(s, t.TempDir()))
			m.Start()
			m.Put(frame("", `{"uuid":"1"}`))
			synctest.Wait()
			if s.count() > 0 {
				t.Errorf("%s: stored at once", name)
			}
			if name == "hurry" {
				m.Hurry()
			}
			<-time.After(wait)
			synctest.Wait()
			if n := s.count(); n != 1 {
				t.Errorf("%s: %d batches after %v", name, n, wait)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A member that is there twice could be read in two ways: such a frame is refused, and
// those around it are stored.
func TestAmbiguousFrames(t *testing.T) {
	path := `"filePath":"/c/projects/-work/` + session + `.jsonl"`
	for name, line := range map[string]string{
		"entries twice":        `{"type":"transcript_mirror",` + path + `,"entries":[{"uuid":"x"}],"entries":[{"uuid":"y"}]}`,
		"path twice":           `{"type":"transcript_mirror",` + path + `,` + path + `,"entries":[{"uuid":"x"}]}`,
		"not valid":            `{"type":"transcript_mirror",` + path + `,"entries":[{"uuid":"x"}]`,
		"not a transcript":     `{"type":"transcript_mirror","filePath":"/c/projects/-work/notes.jsonl","entries":[{"uuid":"x"}]}`,
		"not below projects":   `{"type":"transcript_mirror","filePath":"/c/other/-work/` + session + `.jsonl","entries":[{"uuid":"x"}]}`,
		"another ending":       `{"type":"transcript_mirror","filePath":"/c/projects/-work/` + session + `.json","entries":[{"uuid":"x"}]}`,
		"an entry not a value": `{"type":"transcript_mirror",` + path + `,"entries":["x"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := store.Memory()
				told := 0
				cfg := config(s, t.TempDir())
				cfg.OnNotStored = func(_ store.Key, err *store.NotStoredError) {
					if told++; err.Err == nil || err.Journal != "" {
						t.Errorf("%+v", err)
					}
				}
				m := New(cfg)
				m.Start()
				m.Put(frame("", `{"uuid":"1"}`))
				m.Put([]byte(line))
				m.Put(frame("", `{"uuid":"2"}`))
				if err := m.Wait(t.Context(), 3); err != nil {
					t.Errorf("Wait = %v", err)
				}
				if err := m.Close(t.Context()); !errors.Is(err, store.ErrNotStored) {
					t.Errorf("Close = %v", err)
				}
				if got := strings.Join(load(t, s, ""), ""); got != `{"uuid":"1"}{"uuid":"2"}` || told != 1 {
					t.Errorf("stored %s, told %d times", got, told)
				}
			})
		})
	}
}

// Whatever order frames of several transcripts come in, and however often the store fails,
// each transcript has its lines once, in order, and Wait returns no sooner than its frames
// are stored.
func TestWaitMeansStored(t *testing.T) {
	for seed := range 6 {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			s := &faulty{MemoryStore: store.Memory(), fault: func(op string) kind {
				if op != "append" {
					return none
				}
				calls++
				return []kind{none, before, after, twice}[(3*calls+seed)%4]
			}}
			dir := t.TempDir()
			m := New(config(s, dir))
			m.Start()
			subs := []string{"", "subagents/agent-1", "subagents/agent-2"}
			want := make(map[string][]string)
			for n := range 60 {
				sub := subs[(n*n+seed)%3]
				line := fmt.Sprintf(`{"uuid":"%d"}`, n)
				want[sub] = append(want[sub], line)
				m.Put(frame(sub, line))
				if n%7 != seed%7 {
					continue
				}
				if err := m.Wait(t.Context(), m.Count()); err != nil {
					t.Fatal(err)
				}
				for _, sub := range subs {
					if got := load(t, s, sub); !slices.Equal(got, want[sub]) {
						t.Fatalf("seed %d, %d frames: %q has %q, want %q", seed, n+1, sub, got, want[sub])
					}
				}
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for _, sub := range subs {
				if got := load(t, s, sub); !slices.Equal(got, want[sub]) {
					t.Errorf("seed %d: %q has %q, want %q", seed, sub, got, want[sub])
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("seed %d: journals of what is stored are left: %v, %v", seed, left, err)
			}
		})
	}
}

// By default, journals are in the user's cache.
func TestDefaultJournals(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("LocalAppData", home)
	if got := DefaultJournals(); !strings.HasPrefix(got, home) || filepath.Base(got) != "claude-journals" {
		t.Errorf("%s", got)
	}
	t.Setenv("HOME", "")
	t.Setenv("LocalAppData", "")
	if got := DefaultJournals(); got != filepath.Join(os.TempDir(), "claude-journals") {
		t.Errorf("without a home: %s", got)
	}
}
