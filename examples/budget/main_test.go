package main

import (
	"context"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
)

func Example() {
	cli := claudetest.New(
		claudetest.Say("An error is dropped.").Usage(claudetest.ReplyUsage{InputTokens: 10_000, OutputTokens: 500}),
		claudetest.Say("Fixed.").Usage(claudetest.ReplyUsage{InputTokens: 20_000, OutputTokens: 1_000}),
	)
	if err := run(context.Background(), os.Stdout, []string{"Name a bug", "Fix it"}, 1, cli); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Name a bug: $0.05, in total $0.05
	// Fix it: $0.10, in total $0.15
	// scripted: 30000 tokens in, 1500 out
}

// An agent that ends each turn as the CLI does when the money is gone.
func Example_over() {
	cli := claudetest.NewHost(host.AgentFunc(func(_ context.Context, t *host.Turn) error {
		t.Spend(message.Usage{OutputTokens: 40_000}, 0.80)
		t.EditResult(func(r *message.Result) { r.Subtype, r.IsError = message.ResultErrorMaxBudget, true })
		return nil
	}), nil)
	if err := run(context.Background(), os.Stdout, []string{"Rewrite it", "Again"}, 0.50, cli); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Rewrite it: $0.80, in total $0.80
	// the budget is used up
}
