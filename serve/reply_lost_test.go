package serve_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// If the reply of the fleet is lost, its client is told, and the log finds out whether the
// prompt was accepted, although nobody reads it.
func TestReplyOfFleetIsLost(t *testing.T) {
	t.Parallel()
	for name, accepts := range map[string]bool{"accepted": true, "not accepted": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
				whole := r.fleet
				lost := errors.New("the reply is lost")
				r.onto(sending{whole, func(ctx context.Context, key string, p fleet.Prompt) (string, error) {
					if !accepts {
						return "", lost
					}
					_, err := whole.Send(ctx, key, p)
					return "", errors.Join(lost, err)
				}})
				s := r.server.Service()
				c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Send(t.Context(), operator, c.ID, api.NewPrompt{Content: []byte(`"hello"`)}); err == nil {
					t.Error("the client is not told")
				}
				<-time.After(3 * time.Minute)
				usage, err := s.Usage(t.Context(), operator, api.UsageQuery{})
				if want := map[bool]int{true: 1}[accepts]; err != nil || usage.Total.Turns != want {
					t.Errorf("%d turns are known, want %d: %v", usage.Total.Turns, want, err)
				}
			})
		})
	}
}
