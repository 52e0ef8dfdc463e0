// Command quickstart asks Claude one question.
package main

import (
	"context"
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

// run prints the answer and what it cost. A test passes a transport; nil starts
// the CLI on this machine, as in most examples.
func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	res, err := claude.Ask(ctx, "What is 2+2?", &claude.Options{Transport: cli})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s ($%.4f)\n", res.Text, res.TotalCostUSD)
	return nil
}
