// Command history shows the newest sessions of a directory, and tries another way
// in a copy of the last one.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), os.Stdout, history.Disk(""), dir); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, h *history.History, dir string) error {
	var newest string
	for info, err := range h.List(ctx, history.Query{Dir: dir, Limit: 5}) {
		if err != nil {
			return err
		}
		if newest == "" {
			newest = info.ID
		}
		fmt.Fprintf(w, "%s (%s)\n", info.Title, info.Branch)
	}
	if newest == "" {
		return nil
	}
	first, err := show(ctx, w, h, newest)
	if err != nil {
		return err
	}
	fork, err := h.Fork(ctx, newest, history.ForkOptions{UpTo: first, Title: "Another way"})
	if err != nil {
		return err
	}
	info, err := h.Info(ctx, fork) // claude.Options{Resume: fork} continues it
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s begins with %q\n", info.Title, info.FirstPrompt)
	return nil
}

// show prints a conversation and returns the id of its first answer.
func show(ctx context.Context, w io.Writer, h *history.History, id string) (first string, err error) {
	t, err := h.Read(ctx, id)
	if err != nil {
		return "", err
	}
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return "", err
		}
		switch msg := m.Message.(type) {
		case *message.User:
			fmt.Fprintf(w, "> %s\n", msg.Text())
		case *message.Assistant:
			fmt.Fprintf(w, "%s\n", msg.Text())
			if first == "" {
				first = m.UUID
			}
		}
	}
	return first, nil
}
