// Command kills makes the table of internal/test/kills for SQLite. It is a program of its
// own because only this module links the driver.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/internal/test/takeover"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// sqlite keeps each run in a database of its own.
var sqlite = takeover.Backend{
	Name: "SQLite",
	Start: func(_ context.Context, dir string) (func(int) (string, string), func() error, error) {
		place := func(run int) (string, string) {
			return "sqlite:" + filepath.Join(dir, fmt.Sprintf("run-%d.db", run)), "p"
		}
		return place, func() error { return nil }, nil
	},
	Open: func(ctx context.Context, where string) (store.Fleet, error) { return sqlstore.Open(ctx, where) },
}

func main() { os.Exit(takeover.Main(sqlite)) }
