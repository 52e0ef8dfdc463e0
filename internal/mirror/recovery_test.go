package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// outage is a store whose appends fail while it is down.
func outage(down *atomic.Bool) *faulty {
	return &faulty{MemoryStore: store.Memory(), fault: func(op string) kind {
		if op == "append" && down.Load() {
			return before
		}
		return none
	}}
}

// Once the store is back and has everything, the mirror has forgotten that it gave up: a
// session whose store failed for a while is stored again, and can wait for that.
func TestWaitAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		s := outage(&down)
		m := New(config(s, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		if err := m.Wait(t.Context(), 1); !errors.Is(err, store.ErrNotStored) {
			t.Errorf("while the store is down, Wait = %v", err)
		}
		down.Store(false)
		<-time.After(2 * maxPause)
		m.Put(frame("", `{"uuid":"2"}`))
		if err := m.Wait(t.Context(), 2); err != nil {
			t.Errorf("when the store is back, Wait = %v", err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := load(t, s, ""); len(got) != 2 {
			t.Errorf("stored %q", got)
		}
	})
}

// A store is given up when it takes nothing. One that takes batch after batch, however
// slowly, is waited for.
func TestSlowStoreIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{MemoryStore: store.Memory(), fault: noFault, delay: func(op string) {
			if op == "append" {
				<-time.After(callBound * 3 / 4)
			}
		}}
		cfg := config(s, t.TempDir())
		cfg.OnNotStored = func(_ store.Key, err *store.NotStoredError) { t.Error(err) }
		m := New(cfg)
		m.Start()
		begin := time.Now()
		for n := range 6 * maxEntries {
			m.Put(frame("", fmt.Sprintf(`{"uuid":"%d"}`, n)))
		}
		if err := m.Wait(t.Context(), m.Count()); err != nil || time.Since(begin) < cfg.GiveUp {
			t.Errorf("Wait = %v after %v", err, time.Since(begin))
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// After a long outage the store is tried again soon: pauses grow, but not without bound.
func TestPausesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		cfg := config(outage(&down), t.TempDir())
		cfg.GiveUp = -1
		m := New(cfg)
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		<-time.After(time.Hour)
		down.Store(false)
		back := time.Now()
		if err := m.Wait(t.Context(), 1); err != nil || time.Since(back) > 2*maxPause {
			t.Errorf("Wait = %v, %v after the store was back", err, time.Since(back))
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A mirror that could not store everything also releases its lease: the next owner
// must not wait for a session that no process works on.
func TestFailedCloseGivesLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		s := outage(&down)
		m := New(config(s, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Close(ctx); !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Close = %v", err)
		}
		if _, err := s.Acquire(t.Context(), "p", session, "another", time.Hour); err != nil {
			t.Errorf("the next owner: %v", err)
		}
	})
}
