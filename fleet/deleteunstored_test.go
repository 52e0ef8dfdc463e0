package fleet_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// forgetful is a store that takes no outcomes.
type forgetful struct {
	*store.MemoryStore
	refused atomic.Int64
}

func (s *forgetful) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	if slices.ContainsFunc(changes, func(c store.RecordChange) bool { return c.Key.Kind == "outcome" && !c.Drop }) {
		s.refused.Add(1)
		return nil, storefault.ErrFault
	}
	return s.MemoryStore.Change(ctx, f, changes...)
}

// A conversation whose last answer is not stored yet, because the store takes no outcomes,
// can be deleted: the deletion does not wait for the outcome, and nothing is left.
func TestDeleteBeforeTheOutcomeIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &forgetful{MemoryStore: store.Memory()}
		cli := newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = 1 })
		defer closeFleet(t, f)
		send(t, f, "ada", "hello")
		<-time.After(time.Minute)
		if db.refused.Load() == 0 {
			t.Fatal("no outcome was written")
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if err := f.Delete(ctx, "ada"); err != nil || time.Since(begin) > time.Minute {
			t.Errorf("deleted for %v: %v", time.Since(begin), err)
		}
		refused := db.refused.Load()
		<-time.After(5 * time.Minute)
		if got := left(t, db); len(got) > 0 || db.refused.Load() != refused {
			t.Errorf("left are %q, and the outcome is written again", got)
		}
		if live, _ := cli.counts(); live != 0 {
			t.Errorf("%d CLIs run", live)
		}
	})
}
