package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// scripted is a store whose appends do what a test says.
type scripted struct {
	*store.MemoryStore
	mu     sync.Mutex
	append func(ctx context.Context, b store.Batch) error // nil: they are stored
	at     []time.Time                                    // when they were tried
	sizes  []int                                          // how many entries they had
	leased int                                            // how often a lease was asked for
}

func (s *scripted) Append(ctx context.Context, k store.Key, b store.Batch) error {
	s.mu.Lock()
	s.at, s.sizes = append(s.at, time.Now()), append(s.sizes, len(b.Entries))
	do := s.append
	s.mu.Unlock()
	if do != nil {
		if err := do(ctx, b); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
	}
	return s.MemoryStore.Append(ctx, k, b)
}

// script sets what the appends do from now on.
func (s *scripted) script(do func(ctx context.Context, b store.Batch) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append, s.at, s.sizes = do, nil, nil
}

func down(context.Context, store.Batch) error { return errFault }

// After an outage the pauses between attempts begin anew: the next failure is over soon.
func TestPausesBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{MemoryStore: store.Memory(), append: down}
		m := New(config(s, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		<-time.After(30 * time.Second) // the pauses are as long as they get
		s.script(nil)
		if err := m.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.script(down)
		m.Put(frame("", `{"uuid":"2"}`))
		<-time.After(time.Second)
		synctest.Wait()
		s.mu.Lock()
		if tried := len(s.at); tried < 3 || s.at[1].Sub(s.at[0]) != firstPause || s.at[2].Sub(s.at[1]) != 2*firstPause {
			t.Errorf("tried at %v", s.at)
		}
		s.mu.Unlock()
		s.script(nil)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The error of a session names the first frame that was lost: the others may follow from it.
func TestFirstBadFrameIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		m := New(config(store.Memory(), t.TempDir()))
		m.Start()
		m.Lose(first)
		m.Lose(second)
		if err := m.Close(t.Context()); !errors.Is(err, first) || errors.Is(err, second) || !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Close = %v", err)
		}
	})
}

// A store that is in the middle of a call when Close has no more time may finish it: what it
// has stored is not reported as missing, and no journal stays.
func TestCloseLetsACallEnd(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{MemoryStore: store.Memory(), append: func(ctx context.Context, _ store.Batch) error {
			<-ctx.Done()
			<-time.After(endBound / 2)
			return nil
		}}
		m := New(config(s, dir))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		m.Hurry()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("Close = %v", err)
		}
		if got := load(t, s, ""); len(got) != 1 {
			t.Errorf("stored: %q", got)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	})
}

// Frames without entries that come while others wait for the store count as stored with
// them.
func TestEmptyFramesBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{MemoryStore: store.Memory(), append: down}
		cfg := config(s, t.TempDir())
		cfg.GiveUp = -1
		m := New(cfg)
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		<-time.After(10 * time.Second)
		m.Put(frame(""))
		m.Put(frame("subagents/agent-1"))
		synctest.Wait()
		s.script(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := m.Wait(ctx, 3); err != nil {
			t.Errorf("Wait = %v", err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// No batch is larger than its bounds, whatever comes in one frame.
func TestBatchBounds(t *testing.T) {
	for name, c := range map[string]struct {
		entries int
		pad     int
		want    string
	}{
		"the most entries": {maxEntries, 0, "[500]"},
		"one more":         {maxEntries + 1, 0, "[500 1]"},
		"many":             {2*maxEntries + 7, 0, "[500 500 7]"},
		"bytes":            {4, maxBytes/2 - 100, "[2 2]"},
		"larger than any":  {2, maxBytes + 1, "[1 1]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{MemoryStore: store.Memory()}
				m := New(config(s, t.TempDir()))
				m.Start()
				var entries []string
				for i := range c.entries {
					entries = append(entries, fmt.Sprintf(`{"uuid":"%d","pad":%q}`, i, strings.Repeat("x", c.pad)))
				}
				m.Put(frame("", entries...))
				if err := m.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(s.sizes); got != c.want {
					t.Errorf("batches of %s entries, want %s", got, c.want)
				}
				if got := load(t, s, ""); len(got) != c.entries {
					t.Errorf("%d entries", len(got))
				}
			})
		})
	}
}

// leaseless is a store without leases.
type leaseless struct{ *scripted }

func (l leaseless) Acquire(context.Context, string, string, string, time.Duration) (store.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leased++
	return store.Lease{}, errors.ErrUnsupported
}

// A store without leases is asked for one once, and the log warns once.
func TestNoLeasesIsLearnedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := leaseless{&scripted{MemoryStore: store.Memory()}}
		var log bytes.Buffer
		cfg := config(s, t.TempDir())
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		m := New(cfg)
		if err := m.Acquire(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		m.Start()
		for i := range 3 {
			m.Put(frame("", fmt.Sprintf(`{"uuid":"%d"}`, i)))
			if err := m.Wait(t.Context(), m.Count()); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if warned := strings.Count(log.String(), "no leases"); s.leased != 1 || warned != 1 || len(s.sizes) != 3 {
			t.Errorf("asked %d times, warned %d times, %d batches", s.leased, warned, len(s.sizes))
		}
	})
}
