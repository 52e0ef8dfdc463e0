package s3store_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
)

// Programs with one bucket and one folder have the rate of a tenant and the budgets of a day
// together.
func TestSharedLimits(t *testing.T) {
	url, dir := newServer(t).url, t.TempDir()
	realstore.SharedLimits(t, func(*testing.T) store.Fleet { return joined(url, dir) })
}
