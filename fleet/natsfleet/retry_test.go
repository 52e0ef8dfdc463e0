package natsfleet_test

import (
	"context"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// A request whose answer was lost because the connection was made again does not
// let us make it once more: that would lose the answers that others wait for. One
// that gets no answer from a server is a reason to try another.
func TestOneReconnectIsEnough(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	for name, again := range map[string]bool{"the connection was made again": true, "the server does not answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, c.URL())
			tries := 0
			err := s.WithRetry(t.Context(), func(context.Context) error {
				if tries++; tries > 1 {
					return nil
				}
				if again {
					if err := s.Reconnect(); err != nil {
						return err
					}
					eventually(t, "the connection is not made again", func() bool { return s.Reconnects() == 1 })
				}
				return context.DeadlineExceeded
			})
			if err != nil || tries != 2 {
				t.Fatalf("%v, after %d tries", err, tries)
			}
			if s.Moves() == again {
				t.Errorf("asked for another server: %v", s.Moves())
			}
		})
	}
}
