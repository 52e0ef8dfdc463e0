package redisstore_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
)

// Programs with one Redis have the rate of a tenant and the budgets of a day together.
func TestSharedLimits(t *testing.T) {
	url := server.Redis(t)
	realstore.SharedLimits(t, func(t *testing.T) store.Fleet { return open(t, url) })
}
