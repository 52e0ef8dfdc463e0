// Command retry asks again when the API is overloaded, limits the rate or is not
// reached, and gives up at once on everything else.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	if err := run(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	res, err := ask(ctx, w, "What is 2+2?", &claude.Options{
		MaxRetries: 3, // of the CLI, for each call of the API
		Timeouts:   claude.Timeouts{API: time.Minute},
		Transport:  cli,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, res.Text)
	return nil
}

// ask tries three times, a minute apart.
func ask(ctx context.Context, w io.Writer, prompt string, opts *claude.Options) (*message.Result, error) {
	for attempt := 1; ; attempt++ {
		res, err := claude.Ask(ctx, prompt, opts)
		failed, ok := errors.AsType[*claude.ResultError](err)
		if !ok || !failed.Retryable() || attempt == 3 {
			return res, err
		}
		fmt.Fprintln(w, "again in a minute:", err)
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return res, ctx.Err()
		}
	}
}
