// Command interrupt stops a turn that runs, and steers another one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	if err := run(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	s, err := claude.Connect(ctx, &claude.Options{PartialMessages: true, AllowedTools: []string{"Bash"}, Transport: cli})
	if err != nil {
		return err
	}
	defer s.Close()
	return errors.Join(stop(ctx, s, w), steer(ctx, s, w))
}

// stop interrupts a turn that has said enough, and waits for its end.
func stop(ctx context.Context, s *claude.Session, w io.Writer) error {
	draft, stopped := message.Draft{}, false
	for msg, err := range s.Run(ctx, "Count to a thousand, in words") {
		if failed, ok := errors.AsType[*claude.ResultError](err); ok {
			fmt.Fprintln(w, "ended:", failed.Result.TerminalReason)
			return nil // the session continues
		} else if err != nil {
			return err
		}
		if draft.Add(msg) && !stopped && strings.Contains(draft.Text(), "three") {
			if _, err := s.Interrupt(ctx); err != nil { // allowed from any goroutine
				return err
			}
			stopped = true
		}
	}
	return nil
}

// steer sends a second prompt while a tool runs. The model reads it when the
// tool is done; or it is answered by a turn of its own, if it came too late.
func steer(ctx context.Context, s *claude.Session, w io.Writer) error {
	if _, err := s.Send(ctx, "Run the tests"); err != nil {
		return err
	}
	var correction string
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *message.Assistant:
			if len(m.ToolUses()) > 0 && correction == "" {
				if correction, err = s.Send(ctx, "Only the fast ones"); err != nil {
					return err
				}
			}
		case *message.Result:
			fmt.Fprintln(w, m.Text)
			if slices.Contains(m.Prompts, correction) { // a result names what it answers
				return nil
			}
		}
	}
	return nil
}
