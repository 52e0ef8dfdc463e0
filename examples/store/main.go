// Command store keeps a conversation in a directory that other machines can
// read, and hands it over in order when it is told to end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store"
)

func main() {
	// SIGTERM is how Kubernetes asks a program to end.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, store.Files("transcripts"), nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, db store.Sessions, cli claude.Transport) error {
	s, err := claude.Connect(ctx, options(db, cli))
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return fmt.Errorf("%s has this conversation; ask there: %w", held.Owner, err)
	}
	if err != nil {
		return err
	}
	_, err = s.Ask(ctx, "Remember the number 42.")
	if errors.Is(err, store.ErrNotStored) {
		fmt.Fprintln(w, "answered, but not stored yet:", err)
	} else if err != nil && ctx.Err() == nil {
		return errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil { // stores what is left, and gives the lease back
		return err
	}
	return count(context.WithoutCancel(ctx), w, db, s.ID())
}

func options(db store.Sessions, cli claude.Transport) *claude.Options {
	return &claude.Options{
		Store: &claude.StoreOptions{
			Store:   db,
			Project: "tenant-7",
			Journal: os.Getenv("JOURNAL_DIR"), // a volume that outlives the container
		},
		Transport: cli,
	}
}

// count prints how much of a conversation is stored.
func count(ctx context.Context, w io.Writer, db store.Sessions, session string) error {
	n := 0
	for _, err := range store.Entries(ctx, db, store.Key{Project: "tenant-7", Session: session}) {
		if err != nil {
			return err
		}
		n++
	}
	fmt.Fprintln(w, n, "lines are stored")
	return nil
}
