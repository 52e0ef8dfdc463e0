package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// clock estimates the time of the store, for people to read and for records that are
// kept for days. It asks the store only now and then, and adds the time that has passed
// in this process since. Two processes may differ by as long as asking takes; the order
// of prompts does not depend on it.
type clock struct {
	mu    sync.Mutex
	at    time.Time // by the store
	asked time.Time // by this process, at that time
}

// clockAge is how long an answer of the store is used.
const clockAge = 10 * time.Second

// about returns the approximate time of the store.
func (c *clock) about(ctx context.Context, s store.Records) (time.Time, error) {
	c.mu.Lock()
	at, since := c.at, time.Since(c.asked)
	c.mu.Unlock()
	if !at.IsZero() && since < clockAge {
		return at.Add(since), nil
	}
	at, err := s.Now(ctx)
	if err != nil {
		return at, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.asked = at, time.Now()
	return at, nil
}
