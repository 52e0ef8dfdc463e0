// Command demo shows a whole session with a simulated agent. It needs no CLI, no
// account and no network:
//
//	go run ./cmd/demo
//
// claudectl demo shows the same, and can use the real CLI. This command is smaller:
// from empty caches, it compiles in two thirds of the time.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/claude-agent-go/claude/internal/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	play := &demo.Play{Claudectl: "go run ./cmd/claudectl"}
	if err := play.Run(ctx, demo.NewView(os.Stdout, os.Stdout, os.Environ(), false)); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
