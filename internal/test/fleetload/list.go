package fleetload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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

// Count lists the conversations, and returns how many there are.
func Count(ctx context.Context, of fleet.Conversations) (n int, err error) {
	for _, err := range of.List(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// List is a list of conversations to be measured.
type List struct {
	Name string
	of   fleet.Conversations
	want int
}

// Lists fills a store with 10,000 conversations that have a prompt each, and returns their
// list and that of a tenant with 100 of them. Close the fleet when they are measured.
func Lists(ctx context.Context, db store.Fleet) (*fleet.Fleet, []List, error) {
	const tenants, each = 100, 100
	f, err := fleet.Open(ctx, fleet.Options{Store: db, Project: "p", MaxLive: fleet.NoCLIs, QueueAll: 2 * tenants * each, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	if err := Fill(ctx, f, tenants, each); err != nil {
		return nil, nil, errors.Join(err, f.Close(ctx))
	}
	return f, []List{{"all", f, tenants * each}, {"tenant", f.Tenant("t7"), each}}, nil
}

// Read reads the list.
func (l *List) Read(ctx context.Context) error {
	if got, err := Count(ctx, l.of); err != nil || got != l.want {
		return fmt.Errorf("%d conversations, want %d (%w)", got, l.want, err)
	}
	return nil
}
