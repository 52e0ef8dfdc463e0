package fleetload

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// Fill gives each of so many conversations of so many tenants a prompt. Their keys are
// t0/c0 and so on.
func Fill(ctx context.Context, f *fleet.Fleet, tenants, each int) error {
	for t := range tenants {
		for c := range each {
			if _, err := f.Send(ctx, fmt.Sprintf("t%d/c%d", t, c), fleet.Prompt{Text: "what is new?"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// BenchmarkList measures what it takes to list 10,000 conversations with a prompt each,
// and the 100 of a tenant.
func BenchmarkList(b *testing.B, db store.Fleet) {
	const tenants, each = 100, 100
	f, err := fleet.Open(b.Context(), fleet.Options{Store: db, Project: "p", MaxLive: fleet.NoCLIs, QueueAll: 2 * tenants * each, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close(context.WithoutCancel(b.Context()))
	if err := Fill(b.Context(), f, tenants, each); err != nil {
		b.Fatal(err)
	}
	for name, list := range map[string]struct {
		of   fleet.Conversations
		want int
	}{"all": {f, tenants * each}, "tenant": {f.Tenant("t7"), each}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				got := 0
				for _, err := range list.of.List(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != list.want {
					b.Fatalf("%d conversations, want %d", got, list.want)
				}
			}
		})
	}
}
