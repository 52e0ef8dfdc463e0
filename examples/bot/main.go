// Command bot asks people before it runs a command, for as long as they take. It
// may be stopped at any time: started again, it continues when the answer is
// there.
//
//	bot work "Note the release."    begins; ends when a call waits for a person
//	bot list                        shows what waits
//	bot allow ID, bot deny ID       decides
//	bot continue                    continues after the decision
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

const (
	project      = "bot"
	conversation = "release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	b := &bot{db: store.Files("data"), patience: time.Minute, w: os.Stdout}
	if d, err := time.ParseDuration(os.Getenv("BOT_PATIENCE")); err == nil {
		b.patience = d
	}
	if err := b.run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

type bot struct {
	db       *store.FileStore
	patience time.Duration
	cli      claude.Transport // nil: the CLI on this machine
	w        io.Writer
}

func (b *bot) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "work":
		return b.work(ctx, "", args[1])
	case len(args) == 1 && args[0] == "list":
		return b.list(ctx)
	case len(args) == 2 && args[0] == "allow":
		return b.decide(ctx, args[1], permission.Allow())
	case len(args) == 2 && args[0] == "deny":
		return b.decide(ctx, args[1], permission.Deny("Not today."))
	case len(args) == 1 && args[0] == "continue":
		for session, err := range b.db.List(ctx, project) {
			if err != nil {
				return err
			}
			return b.work(ctx, session.Session, "")
		}
		return errors.New("there is nothing to continue")
	}
	return errors.New("usage: bot work PROMPT | list | allow ID | deny ID | continue")
}
