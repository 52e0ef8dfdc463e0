package fleet_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// halfway is a store that makes a copy of a session and then fails, and removes nothing.
type halfway struct {
	*store.MemoryStore
	broken atomic.Bool
}

func (h *halfway) Append(ctx context.Context, k store.Key, b store.Batch) error {
	err := h.MemoryStore.Append(ctx, k, b)
	if err == nil && h.broken.Load() {
		return storefault.ErrFault
	}
	return err
}

func (h *halfway) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if h.broken.Load() {
		return storefault.ErrFault
	}
	return h.MemoryStore.Delete(ctx, k, f)
}

// A copy that fails and cannot be removed stays recorded, until a later fleet removes it.
func TestCopyStaysRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &halfway{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), nil)
		ask(t, f, "ada", "hello")
		<-time.After(5 * time.Minute)
		sessions := func() (n int) {
			for _, err := range db.List(t.Context(), "p") {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		db.broken.Store(true)
		if err := f.Fork(t.Context(), "ada", "bob", ""); !errors.Is(err, storefault.ErrFault) {
			t.Errorf("forked: %v", err)
		}
		db.broken.Store(false)
		if left := allRecords(t, db.MemoryStore, "copying"); len(left) != 1 || sessions() != 2 {
			t.Errorf("recorded are %q, there are %d sessions", left, sessions())
		}
		closeFleet(t, f)
		f = open(t, db, newScripted(), nil)
		<-time.After(15 * time.Minute)
		if left := allRecords(t, db.MemoryStore, "copying"); len(left) != 0 || sessions() != 1 {
			t.Errorf("left are %q, and %d sessions", left, sessions())
		}
		if got := ask(t, f, "ada", "more"); got != "heard hello, more" {
			t.Errorf("the original has %q", got)
		}
		closeFleet(t, f)
	})
}
