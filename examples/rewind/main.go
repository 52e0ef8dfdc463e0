// Command rewind lets Claude change files, shows which, and takes it back.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

func main() {
	if err := run(context.Background(), os.Stdout, ".", nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, dir string, cli claude.Transport) error {
	s, err := claude.Connect(ctx, &claude.Options{
		Cwd:               dir,
		FileCheckpointing: true, // keeps what files were before each prompt
		PermissionMode:    permission.ModeAcceptEdits,
		Transport:         cli,
	})
	if err != nil {
		return err
	}
	defer s.Close()

	checkpoint, err := s.Send(ctx, "Rewrite README.md in verse") // the id of the prompt
	if err != nil {
		return err
	}
	if err := finish(ctx, s); err != nil {
		return err
	}
	preview, err := s.Files().PreviewRewind(ctx, checkpoint)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "changed:", strings.Join(preview.FilesChanged, ", "))
	if _, err := s.Files().Rewind(ctx, checkpoint); err != nil {
		return err
	}
	fmt.Fprintln(w, "taken back")
	return nil
}

// finish reads to the end of the turn.
func finish(ctx context.Context, s *claude.Session) error {
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			return err
		}
		if res, ok := msg.(*message.Result); ok {
			if res.Failed() {
				return &claude.ResultError{Result: res}
			}
			return nil
		}
	}
	return claude.ErrNoResult
}
