package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/store"
)

// hanging is a store that does not answer renewals until it is mended.
type hanging struct {
	*store.MemoryStore
	hangs bool
	late  time.Duration // how long the reply to a renewal takes
}

func (s *hanging) Renew(ctx context.Context, l store.Lease) error {
	defer func() { <-time.After(s.late) }()
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.MemoryStore.Renew(ctx, l)
}

// A lease is in doubt before it expires, and no longer so when it was renewed. A
// store that hangs does not block its owner.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &hanging{MemoryStore: store.Memory()}
		l, err := lease.Acquire(t.Context(), db, "p", "n", "ada", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := lease.Acquire(t.Context(), db, "p", "n", "bob", time.Minute); !errors.Is(err, store.ErrLeased) {
			t.Errorf("a second owner: %+v, %v", other, err)
		}
		<-time.After(53 * time.Second)
		if !l.Sure() {
			t.Error("in doubt too early")
		}
		<-time.After(time.Second)
		if l.Sure() {
			t.Error("sure for too long")
		}
		if err := l.Renew(t.Context()); err != nil || !l.Sure() {
			t.Errorf("a renewal: %v, sure: %v", err, l.Sure())
		}
		db.hangs = true
		begin := time.Now()
		if err := l.Renew(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 20*time.Second {
			t.Errorf("a store that hangs: %v after %v", err, time.Since(begin))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Release(ended); err != nil {
			t.Errorf("a release: %v", err)
		}
		db.hangs = false
		if err := l.Renew(t.Context()); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("a renewal after the release: %v", err)
		}
	})
}

// The time of a lease begins before the store was asked, because nobody knows when the
// store has renewed it: with a late reply, it ends earlier than the owner of the reply
// would think.
func TestLateReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &hanging{MemoryStore: store.Memory(), late: 15 * time.Second}
		l, err := lease.Acquire(t.Context(), db, "p", "n", "ada", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := l.Left(), 54*time.Second-db.late; got != want {
			t.Errorf("%v are left, want %v", got, want)
		}
	})
}
