// Command structured gets an answer as a Go value: the schema comes from the
// type, and the answer is checked before it is decoded.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
)

func main() {
	if err := run(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

// Review is the answer. Fields are required unless they are pointers or have
// omitzero; tags tell the model what they mean.
type Review struct {
	Verdict  string    `json:"verdict" enum:"accept,reject"`
	Findings []Finding `json:"findings"`
}

// Finding is one part of it.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitzero" jsonschema:"0 if it is about the whole file"`
	Problem string `json:"problem" jsonschema:"one sentence"`
}

func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	review, res, err := claude.AskAs[Review](ctx, "Review the last commit", &claude.Options{
		AllowedTools: []string{"Read", "Bash(git show:*)"},
		Transport:    cli,
	})
	if bad, ok := errors.AsType[*claude.OutputError](err); ok {
		return fmt.Errorf("the model gave no review: %w", bad)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s ($%.2f)\n", review.Verdict, res.TotalCostUSD)
	for _, f := range review.Findings {
		fmt.Fprintf(w, "%s:%d: %s\n", f.File, f.Line, f.Problem)
	}
	return nil
}
