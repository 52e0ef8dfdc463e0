package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// timed is a store that notes when it gets a batch, and of how many entries.
type timed struct {
	*store.MemoryStore
	begin time.Time
	takes time.Duration

	mu      sync.Mutex
	batches []string
}

func (s *timed) Append(ctx context.Context, k store.Key, b store.Batch) error {
	s.mu.Lock()
	s.batches = append(s.batches, fmt.Sprintf("%v: %d", time.Since(s.begin), len(b.Entries)))
	s.mu.Unlock()
	<-time.After(s.takes)
	return s.MemoryStore.Append(ctx, k, b)
}

// puts puts frames, each of one entry that is at least so long.
func puts(m *Mirror, count, size int) {
	for range count {
		m.Put(frame("", fmt.Sprintf(`{"type":"user","uuid":"%d","pad":"%s"}`, m.Count(), strings.Repeat("x", size))))
	}
}

// Frames that come in a row are stored together, and none of them later than it must.
func TestGather(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		takes time.Duration // of a call of the store
		play  func(t *testing.T, m *Mirror)
		want  []string
	}{
		"a frame alone": {0, func(t *testing.T, m *Mirror) {
			puts(m, 1, 0)
		}, []string{"5ms: 1"}},
		"two in a row": {0, func(t *testing.T, m *Mirror) {
			puts(m, 1, 0)
			<-time.After(1 * ms)
			puts(m, 1, 0)
		}, []string{"5ms: 2"}},
		"the first does not wait longer because others come": {0, func(t *testing.T, m *Mirror) {
			for range 3 {
				puts(m, 1, 0)
				<-time.After(4 * ms)
			}
		}, []string{"5ms: 2", "13ms: 1"}},
		"somebody waits": {0, func(t *testing.T, m *Mirror) {
			puts(m, 2, 0)
			<-time.After(1 * ms)
			wait(t, m, 2)
		}, []string{"1ms: 2"}},
		"somebody is in a hurry": {0, func(t *testing.T, m *Mirror) {
			puts(m, 2, 0)
			<-time.After(1 * ms)
			m.Hurry()
			puts(m, 1, 0) // which may wait
		}, []string{"1ms: 3"}},
		"somebody was in a hurry before they came": {0, func(t *testing.T, m *Mirror) {
			m.Hurry()
			puts(m, 1, 0)
		}, []string{"5ms: 1"}},
		"somebody has waited before they came": {0, func(t *testing.T, m *Mirror) {
			go wait(t, m, 2)
			<-time.After(1 * ms)
			puts(m, 1, 0)
			<-time.After(1 * ms)
			puts(m, 1, 0)
		}, []string{"1ms: 1", "2ms: 1"}},
		"somebody has stopped waiting": {0, func(t *testing.T, m *Mirror) {
			ctx, cancel := context.WithTimeout(t.Context(), 1*ms)
			defer cancel()
			if err := m.Wait(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait = %v", err)
			}
			puts(m, 1, 0)
		}, []string{"6ms: 1"}},
		"somebody waits for what is stored": {0, func(t *testing.T, m *Mirror) {
			puts(m, 1, 0)
			<-time.After(6 * ms)
			puts(m, 1, 0)
			wait(t, m, 1)
		}, []string{"5ms: 1", "11ms: 1"}},
		"the end": {0, func(t *testing.T, m *Mirror) {
			puts(m, 1, 0)
			<-time.After(1 * ms)
			if err := m.Close(t.Context()); err != nil {
				t.Errorf("Close = %v", err)
			}
		}, []string{"1ms: 1"}},
		"as many as fit in a batch": {0, func(t *testing.T, m *Mirror) {
			puts(m, maxEntries, 0)
		}, []string{"0s: 500"}},
		"as large as fits in a batch": {0, func(t *testing.T, m *Mirror) {
			puts(m, 2, maxBytes/2)
		}, []string{"0s: 1", "0s: 1"}},
		"what somebody waits for that comes during a call follows it": {10 * ms, func(t *testing.T, m *Mirror) {
			puts(m, 1, 0)
			<-time.After(7 * ms)
			puts(m, 1, 0)
			<-time.After(7 * ms)
			puts(m, 1, 0)
			wait(t, m, 3) // leaves a token that is not needed
			<-time.After(10 * ms)
			puts(m, 1, 0)
		}, []string{"5ms: 1", "15ms: 2", "40ms: 1"}},
		"what comes during a call that somebody waits for is gathered": {10 * ms, func(t *testing.T, m *Mirror) {
			puts(m, 1, 0)
			go wait(t, m, 1)
			<-time.After(7 * ms)
			puts(m, 1, 0)
		}, []string{"0s: 1", "15ms: 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &timed{MemoryStore: store.Memory(), begin: time.Now(), takes: test.takes}
				m := New(config(s, t.TempDir()))
				m.Start()
				synctest.Wait()
				test.play(t, m)
				<-time.After(time.Second)
				synctest.Wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				if !slices.Equal(s.batches, test.want) {
					t.Errorf("the batches are %q, want %q", s.batches, test.want)
				}
				if got := len(load(t, s.MemoryStore, "")); uint64(got) != m.Count() {
					t.Errorf("%d entries are stored, want %d", got, m.Count())
				}
				_ = m.Close(t.Context()) // of nothing, or again
			})
		})
	}
}

func wait(t *testing.T, m *Mirror, count uint64) {
	t.Helper()
	if err := m.Wait(t.Context(), count); err != nil {
		t.Errorf("Wait = %v", err)
	}
}

// Frames that are gathered when the mirror is aborted are not stored but kept, and
// reported once: nothing is measured any longer after Close.
func TestAbortWhileGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timed{MemoryStore: store.Memory(), begin: time.Now()}
		cfg := config(s, t.TempDir())
		cfg.OnNotStored = func(_ store.Key, err *store.NotStoredError) { t.Errorf("reported after Close: %v", err) }
		m := New(cfg)
		m.Start()
		synctest.Wait()
		puts(m, 1, 0)
		synctest.Wait()
		m.Abort(errFault)
		<-m.done // at once, not when gathering would end
		if d := time.Since(s.begin); d > 0 {
			t.Errorf("the mirror ended after %v", d)
		}
		err := m.Close(t.Context())
		missing, ok := errors.AsType[*store.NotStoredError](err)
		if !ok || !errors.Is(err, errFault) {
			t.Fatalf("Close = %v", err)
		}
		<-time.After(2 * cfg.GiveUp)
		if len(s.batches) > 0 {
			t.Errorf("stored %q", s.batches)
		}
		if n, err := store.ImportJournal(t.Context(), s.MemoryStore, missing.Journal, store.Fence{}); n != 1 || err != nil {
			t.Errorf("ImportJournal = %d, %v", n, err)
		}
	})
}

// GiveUp is measured from when the store gets a batch, not from when its first frame
// came.
func TestGiveUpAfterGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &faulty{MemoryStore: store.Memory(), fault: func(string) kind { return before }}
		cfg := config(s, t.TempDir())
		cfg.Fence = store.Fence{Project: "p", Name: session, Token: 1}
		reported := make(chan time.Duration, 10)
		cfg.OnNotStored = func(store.Key, *store.NotStoredError) { reported <- time.Since(begin) }
		m := New(cfg)
		m.Start()
		synctest.Wait()
		puts(m, 1, 0)
		if got, want := <-reported, gatherFor+cfg.GiveUp; got != want {
			t.Errorf("reported after %v, want %v", got, want)
		}
		m.Abort(errFault)
		if err := m.Close(t.Context()); !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Close = %v", err)
		}
	})
}
