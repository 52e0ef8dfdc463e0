package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// countedClock is a store whose clock is an hour ahead. It counts how often it is asked.
type countedClock struct {
	*store.MemoryStore
	asked int
}

func (c *countedClock) Now(ctx context.Context) (time.Time, error) {
	c.asked++
	now, err := c.MemoryStore.Now(ctx)
	return now.Add(time.Hour), err
}

// The time of the store advances between two questions to it, and it is asked again when
// its answer is old.
func TestClockAdvances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &countedClock{MemoryStore: store.Memory()}
		var c clock
		for _, step := range []struct {
			after time.Duration
			asked int
		}{{0, 1}, {3 * time.Second, 1}, {clockAge - 3*time.Second - 1, 1}, {1, 2}, {time.Second, 2}, {time.Hour, 3}} {
			<-time.After(step.after)
			now, err := c.about(t.Context(), db)
			if late := time.Now().Add(time.Hour).Sub(now); err != nil || late != 0 || db.asked != step.asked {
				t.Errorf("after %v more: %v late, asked %d times, %v", step.after, late, db.asked, err)
			}
		}
	})
}
