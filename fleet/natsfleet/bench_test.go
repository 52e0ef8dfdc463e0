package natsfleet_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// BenchmarkTurn measures a turn of a conversation that is awake, from Run to the
// result, with a CLI that answers at once. What three replicas cost is its difference
// to a fleet in one process whose store is in memory.
func BenchmarkTurn(b *testing.B) {
	yes := func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("yes") }
	b.Run("memory", func(b *testing.B) {
		cli := claudetest.NewCLI(&claudetest.Script{Model: yes})
		f, err := fleet.Open(b.Context(), fleet.Options{
			Store: store.Memory(), Project: "p", Journal: b.TempDir(), Logger: quiet(),
			Session: func(context.Context, string) (*claude.Options, error) {
				return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		defer shut(b, f)
		turns(b, f)
	})
	b.Run("replicas=3", func(b *testing.B) {
		c := natstest.Start(b, natstest.Options{Nodes: 3})
		turns(b, startWorker(b, c.URL(), yes, nil))
	})
}

// turns runs turns one after another, and reports their median.
func turns(b *testing.B, f fleet.Conversations) {
	var all []time.Duration
	for i := range b.N + 1 {
		if i == 1 {
			b.ResetTimer() // the first starts the CLI
		}
		begin := time.Now()
		if _, err := answer(b.Context(), f, "ada", "hello"); err != nil {
			b.Fatal(err)
		}
		if i > 0 {
			all = append(all, time.Since(begin))
		}
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms/median")
}
