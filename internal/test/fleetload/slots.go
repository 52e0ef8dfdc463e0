package fleetload

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/fleet"
)

// Slots follows what a fleet has to do: its Trace belongs in the options of the
// fleet. Methods may be called from any goroutine. The zero value is ready.
type Slots struct {
	mu      sync.Mutex
	now     fleet.TraceLoad
	most    int
	changed chan struct{} // closed when the numbers change; nil without a waiter
}

// Trace is for the options of one fleet.
func (s *Slots) Trace() *fleet.PromptTrace { return &fleet.PromptTrace{Load: s.see} }

func (s *Slots) see(l fleet.TraceLoad) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.most = l, max(s.most, l.Live)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Most is how many conversations were awake at once.
func (s *Slots) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// AllAsleep waits until no prompt waits and no conversation is awake.
func (s *Slots) AllAsleep(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.now == (fleet.TraceLoad{}) {
			s.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
