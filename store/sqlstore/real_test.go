package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
)

// databases are those that sessions of the real CLI are kept in.
func databases(t *testing.T) map[string]string {
	return map[string]string{
		"SQLite":      "sqlite:" + filepath.Join(t.TempDir(), "s.db"),
		"Postgres 15": server.Postgres(t, 15),
		"Postgres 18": server.Postgres(t, 18),
	}
}

func TestRealResume(t *testing.T) {
	for name, source := range databases(t) {
		t.Run(name, func(t *testing.T) { realstore.Resume(t, name, open(t, source)) })
	}
}

func TestRealSuspended(t *testing.T) {
	for name, source := range databases(t) {
		t.Run(name, func(t *testing.T) { realstore.Suspended(t, open(t, source), other(source)) })
	}
}
