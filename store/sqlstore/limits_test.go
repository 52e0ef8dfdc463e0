package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
)

func sharedLimits(t *testing.T, source string) {
	realstore.SharedLimits(t, func(t *testing.T) store.Fleet { return open(t, source) })
}

// Programs with one SQLite file have the rate of a tenant and the budgets of a day together.
func TestSharedLimits(t *testing.T) {
	sharedLimits(t, "sqlite:"+filepath.Join(t.TempDir(), "agents.db"))
}

func TestSharedLimitsPostgres(t *testing.T) { sharedLimits(t, server.Postgres(t, 15)) }
