// Command crash has a conversation that survives its process. With -die it kills
// itself in the middle of a turn; run again, it continues.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

func main() {
	die := flag.Bool("die", false, "be killed when a tool call is stored")
	dir := flag.String("store", "transcripts", "the directory of the store")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, store.Files(*dir), *die, strings.Join(flag.Args(), " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, db store.Sessions, die bool, prompt string) error {
	s, err := resume(ctx, w, db)
	if err != nil {
		return err
	}
	defer s.Close()
	for m, err := range s.Run(ctx, prompt) {
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *message.Assistant: // the turn is not over: its result has not come
			if die {
				kill(ctx, db, store.Key{Project: "crash", Session: s.ID()})
			}
		case *message.Result:
			fmt.Fprintln(w, m.Text)
		}
	}
	return s.Close()
}

// kill kills this process, as Linux may, once the store has what the model said.
func kill(ctx context.Context, db store.Sessions, k store.Key) {
	for range time.Tick(10 * time.Millisecond) {
		for e, err := range store.Entries(ctx, db, k) {
			if self, _ := os.FindProcess(os.Getpid()); err == nil && strings.Contains(string(e), `"type":"assistant"`) {
				_ = self.Kill() // nothing is closed, and no one is notified
			}
		}
	}
}

// resume continues the newest conversation in the store, or begins one.
func resume(ctx context.Context, w io.Writer, db store.Sessions) (*claude.Session, error) {
	opts := &claude.Options{Continue: true, Store: &claude.StoreOptions{Store: db, Project: "crash", TTL: 5 * time.Second}}
	for {
		s, err := claude.Connect(ctx, opts)
		held, leased := errors.AsType[*store.HeldError](err)
		switch {
		case leased: // its owner may have been killed, and then the lease expires
			fmt.Fprintln(w, "waiting for", held.Owner)
			<-time.After(held.For)
		case opts.Continue && errors.Is(err, claude.ErrNoSession):
			opts.Continue = false
		default:
			return s, err
		}
	}
}
