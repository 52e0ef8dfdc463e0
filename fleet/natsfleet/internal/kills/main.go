// Command kills makes the table of internal/test/kills for NATS, on three servers in
// processes of their own. It is a program of its own because only this module links NATS.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/internal/servers"
	"github.com/claude-agent-go/claude/internal/test/takeover"
	"github.com/claude-agent-go/claude/store"
)

// cluster keeps all runs in one stream, each in a project of its own.
var cluster = takeover.Backend{
	Name: "NATS, three servers",
	Start: func(ctx context.Context, dir string) (func(int) (string, string), func() error, error) {
		c, err := servers.Start(ctx, dir, 3)
		if err != nil {
			return nil, nil, err
		}
		return func(run int) (string, string) { return c.URL(), fmt.Sprint("run-", run) }, c.Stop, nil
	},
	Open: func(ctx context.Context, where string) (store.Fleet, error) {
		return natsfleet.OpenStore(ctx, natsfleet.Options{URL: where, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	},
}

func main() {
	if servers.Play() {
		return
	}
	os.Exit(takeover.Main(cluster))
}
