// Install fetches Claude Code CLIs from npm for the tests and prints their
// paths, one per line:
//
//	go run ./internal/test/realcli/install [version...]
//
// Without arguments it installs the version the project is tested with.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/claude-agent-go/claude/internal/test/realcli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	versions := os.Args[1:]
	if len(versions) == 0 {
		versions = []string{realcli.Version}
	}
	for _, version := range versions {
		path, err := realcli.Install(ctx, version, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			stop()
			os.Exit(1)
		}
		fmt.Println(path)
	}
}
