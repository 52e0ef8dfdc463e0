// Command streaming shows an answer while it is written, and the tools that
// are used on the way.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	if err := run(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	opts := &claude.Options{
		PartialMessages: true, // pieces of text, not only whole answers
		AllowedTools:    []string{"Read", "Glob", "Grep"},
		Transport:       cli,
	}
	var calls message.ToolCalls
	for msg, err := range claude.Query(ctx, "What does this project do?", opts) {
		if err != nil {
			return err // leaving the loop ends the process
		}
		for _, call := range calls.Add(msg) {
			show(w, call)
		}
		switch m := msg.(type) {
		case *message.StreamEvent:
			fmt.Fprint(w, m.Text())
		case *message.APIRetry:
			fmt.Fprintf(w, "\n(retry %d of %d)\n", m.Attempt, m.MaxRetries)
		case *message.Result:
			fmt.Fprintf(w, "\n%.1f s, $%.4f\n", float64(m.DurationMS)/1000, m.TotalCostUSD)
		}
	}
	return nil
}

// show prints the start and the end of a tool call.
func show(w io.Writer, call *message.ToolCall) {
	switch {
	case call.Result == nil:
		fmt.Fprintf(w, "\n> %s %s\n", call.Use.Name, call.Use.Input)
	case call.Result.IsError:
		fmt.Fprintf(w, "< failed: %s\n", call.Result.Content.Text())
	default:
		fmt.Fprintf(w, "< %d bytes\n", len(call.Result.Content.Text()))
	}
}
