package sqlstore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/fleetload"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
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
			benchmarkLists(b, db)
		})
	}
}

// benchmarkLists measures the lists of a store.
func benchmarkLists(b *testing.B, db store.Fleet) {
	f, lists, err := fleetload.Lists(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close(context.WithoutCancel(b.Context()))
	for _, list := range lists {
		b.Run(list.Name, func(b *testing.B) {
			for b.Loop() {
				if err := list.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
