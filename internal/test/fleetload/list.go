package fleetload

import (
	"context"
	"fmt"

	"github.com/claude-agent-go/claude/fleet"
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
