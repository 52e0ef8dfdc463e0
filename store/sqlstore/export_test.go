package sqlstore

import (
	"context"
	"time"
)

// LookEvery changes how often readers look at everything. Call it before the first Watch.
func (s *Store) LookEvery(d time.Duration) { s.line.Look = d }

// Announce replaces how changes are announced. Call it before the first change; nil announces
// nothing.
func (s *Store) Announce(send func(ctx context.Context, text string) error) {
	if s.notes.send = send; send == nil {
		s.notes = nil
	}
}
