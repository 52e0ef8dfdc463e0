package natsfleet_test

import (
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
)

// Programs with one cluster of three nodes have the rate of a tenant and the budgets of a
// day together.
func TestSharedLimits(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	realstore.SharedLimits(t, func(t *testing.T) store.Fleet { return openStore(t, c.URL()) })
}
