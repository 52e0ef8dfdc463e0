package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/fleetload"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// BenchmarkList lists 10,000 conversations with a prompt each, and the 100 of a tenant.
func BenchmarkList(b *testing.B) {
	for name, source := range map[string]func() string{
		"SQLite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "s.db") },
		"Postgres": func() string { return server.Postgres(b, 15) },
	} {
		b.Run(name, func(b *testing.B) {
			db, err := sqlstore.Open(b.Context(), source())
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			fleetload.BenchmarkList(b, db)
		})
	}
}
