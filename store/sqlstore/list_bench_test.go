package sqlstore_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
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
			benchmarkList(b, db)
		})
	}
}

// benchmarkList lists 10,000 conversations with a prompt each, and the 100 of a tenant.
func benchmarkList(b *testing.B, db store.Fleet) {
	const tenants, each = 100, 100
	f, err := fleet.Open(b.Context(), fleet.Options{Store: db, Project: "p", MaxLive: fleet.NoCLIs, QueueAll: 2 * tenants * each, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close(context.WithoutCancel(b.Context()))
	if err := fleetload.Fill(b.Context(), f, tenants, each); err != nil {
		b.Fatal(err)
	}
	for name, list := range map[string]struct {
		of   fleet.Conversations
		want int
	}{"all": {f, tenants * each}, "tenant": {f.Tenant("t7"), each}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got, err := fleetload.Count(b.Context(), list.of); err != nil || got != list.want {
					b.Fatalf("%d conversations, want %d (%v)", got, list.want, err)
				}
			}
		})
	}
}
