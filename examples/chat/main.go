// Command chat is a conversation: each line of the input is a prompt, and the
// session remembers those before.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in io.Reader, w io.Writer, cli claude.Transport) error {
	s, err := claude.Connect(ctx, &claude.Options{Transport: cli})
	if err != nil {
		return err
	}
	defer s.Close()

	lines := bufio.NewScanner(in)
	for fmt.Fprint(w, "> "); lines.Scan(); fmt.Fprint(w, "\n> ") {
		if err := answer(ctx, s, w, lines.Text()); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nContinue later with Options{Resume: %q}.\n", s.ID())
	return lines.Err()
}

// answer is one turn. "/model NAME" changes the model for the turns after it.
func answer(ctx context.Context, s *claude.Session, w io.Writer, prompt string) error {
	if model, ok := strings.CutPrefix(prompt, "/model "); ok {
		return s.SetModel(ctx, model)
	}
	for msg, err := range s.Run(ctx, prompt) {
		if err != nil {
			return err
		}
		if m, ok := msg.(*message.Assistant); ok {
			fmt.Fprint(w, m.Text())
		}
	}
	return nil
}
