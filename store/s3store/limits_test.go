package s3store_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
)

// Programs with one bucket have the rate of a tenant and the budgets of a day together.
func TestSharedLimits(t *testing.T) {
	url := newServer(t).url
	realstore.SharedLimits(t, func(*testing.T) store.Fleet { return at(url) })
}
