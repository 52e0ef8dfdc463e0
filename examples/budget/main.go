// Command budget works through a list of prompts until the money is gone.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	prompts := []string{"Name a bug in main.go", "Fix it", "Write a test for it"}
	if err := run(context.Background(), os.Stdout, prompts, 0.50, nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, prompts []string, limit float64, cli claude.Transport) error {
	s, err := claude.Connect(ctx, &claude.Options{
		MaxBudgetUSD: limit, // the CLI ends a turn in which the session gets there
		MaxTurns:     20,    // and one that goes round in circles
		Transport:    cli,
	})
	if err != nil {
		return err
	}
	defer s.Close()

	var spent message.Spending
	for _, prompt := range prompts {
		res, err := s.Ask(ctx, prompt)
		if res != nil {
			spent.Add(res) // a failed turn also costs
			fmt.Fprintf(w, "%s: $%.2f, in total $%.2f\n", prompt, spent.TurnUSD, spent.TotalUSD)
		}
		if failed, ok := errors.AsType[*claude.ResultError](err); ok {
			return explain(failed.Result)
		}
		if err != nil {
			return err
		}
	}
	for model, use := range spent.Models {
		fmt.Fprintf(w, "%s: %d tokens in, %d out\n", model, use.InputTokens, use.OutputTokens)
	}
	return nil
}

// explain returns why a turn ended: Subtype separates limits from other failures.
func explain(res *message.Result) error {
	switch res.Subtype {
	case message.ResultErrorMaxBudget:
		return errors.New("the budget is used up")
	case message.ResultErrorMaxTurns:
		return fmt.Errorf("no end after %d agentic turns", res.NumTurns)
	}
	return &claude.ResultError{Result: res}
}
