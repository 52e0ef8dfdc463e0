package main

import (
	"context"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
)

func Example() {
	cli := claudetest.New(claudetest.UseTool("StructuredOutput", Review{
		Verdict:  "reject",
		Findings: []Finding{{File: "main.go", Line: 7, Problem: "The error is dropped."}},
	}))
	if err := run(context.Background(), os.Stdout, cli); err != nil {
		fmt.Println(err)
	}
	// Output:
	// reject ($0.00)
	// main.go:7: The error is dropped.
}

// A model that answers in words, although a schema was given.
func Example_words() {
	if err := run(context.Background(), os.Stdout, claudetest.New(claudetest.Say("Looks fine."))); err != nil {
		fmt.Println(err)
	}
	// Output: the model gave no review: claude: no structured output in the result
}
