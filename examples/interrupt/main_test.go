package main

import (
	"context"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
)

func Example() {
	cli := claudetest.New(
		claudetest.Say("one two three four five six seven").Chunks(6, 0).Hold(make(chan struct{})), // for ever
		claudetest.UseTool("Bash", map[string]string{"command": "go test ./..."}),
		claudetest.Say("All tests pass."),
		claudetest.Say("The fast tests pass."),
	)
	if err := run(context.Background(), os.Stdout, cli); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ended: aborted_streaming
	// All tests pass.
	// The fast tests pass.
}
