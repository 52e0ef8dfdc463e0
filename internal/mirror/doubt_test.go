package mirror

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A lease that an attempt of our own may have acquired is waited for, until it must have
// ended. One that has another owner, or whose owner is certain, is held by another
// mirror.
func TestLeaseInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(store.Memory(), "")
		l := newLeases(cfg.Store, &cfg)
		refused := func(owner string) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return errors.Is(l.refused("s", &store.HeldError{Name: "s", Owner: owner, For: time.Second}), store.ErrLeased)
		}
		if !refused(cfg.Owner) {
			t.Error("it is in doubt although nothing has failed")
		}
		l.mu.Lock()
		if err := l.refused("s", errFault); !errors.Is(err, errFault) {
			t.Error(err)
		}
		l.mu.Unlock()
		<-time.After(2*cfg.TTL + callBound - time.Second)
		if refused(cfg.Owner) || !refused("another") {
			t.Error("a lease that may be our own ends the session, or one of another owner does not")
		}
		<-time.After(time.Second)
		if !refused(cfg.Owner) {
			t.Error("the lease is in doubt for longer than it can last")
		}
		if _, err := l.fence(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if len(l.doubt) != 0 {
			t.Error("the lease is held, and still in doubt")
		}
	})
}

// A mirror ends with the first cause.
func TestFirstCauseOfAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(config(&scripted{MemoryStore: store.Memory(), append: down}, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		first := errors.New("deleted")
		m.Abort(first)
		m.Abort(errors.New("closed"))
		if err := m.Wait(t.Context(), m.Count()); !errors.Is(err, first) {
			t.Errorf("it ended with %v", err)
		}
		_ = m.Close(t.Context()) // its error is that of the abort
	})
}
