package workspace

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A disk that does not reply holds up a save and a restore for no longer than Timeout, and
// saves that are tried again and again keep a bounded number of syncs waiting.
func TestDiskThatHangs(t *testing.T) {
	first, second := states()
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t)
		there := open(t, s.worker(t, t.TempDir()), "k")
		write(t, there.Path(), first)
		save(t, there)
		old := readTree(t, there.Path())

		reply, begun := make(chan struct{}), new(atomic.Int32)
		w := s.worker(t, t.TempDir(), func(o *SnapshotOptions) {
			o.Timeout = time.Minute
			o.sync = func(string) error {
				begun.Add(1)
				<-reply
				return nil
			}
		})
		start := time.Now()
		if _, err := w.Open(t.Context(), "k"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("restore: %v after %v", err, time.Since(start))
		}
		d := open(t, w, "new")
		write(t, d.Path(), second)
		for n := range maxSyncs + 5 {
			start := time.Now()
			if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Fatalf("save %d: %v after %v", n, err, time.Since(start))
			}
		}
		if got := begun.Load(); got != maxSyncs {
			t.Errorf("%d syncs wait for the disk, want %d", got, maxSyncs)
		}
		close(reply)
		save(t, d)
		wantTree(t, "when the disk replies", open(t, w, "k").Path(), old)
	})
}
