package main

import (
	"context"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
)

func Example() {
	cli := claudetest.New(claudetest.Say("2+2 is 4.").Usage(claudetest.ReplyUsage{InputTokens: 1000, OutputTokens: 10}))
	if err := run(context.Background(), os.Stdout, cli); err != nil {
		fmt.Println(err)
	}
	// Output: 2+2 is 4. ($0.0042)
}
