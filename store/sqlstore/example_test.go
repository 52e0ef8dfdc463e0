package sqlstore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// An entry that is appended twice is stored once.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), "sqlite:"+filepath.Join(dir, "agents.db")); err != nil {
		log.Fatal(err)
	}
	// Output: {"type":"user","uuid":"1"}
}

func run(ctx context.Context, source string) error {
	db, err := sqlstore.Open(ctx, source) // "postgres://agent@db.internal/agents" or "sqlite:/var/lib/agents.db"
	if err != nil {
		return err
	}
	defer db.Close()
	key := store.Key{Project: "tenant-7", Session: "0f8e0a52-1a6f-4f0e-9d4b-2f6b8a1c3d5e"}
	batch := store.Batch{Entries: []store.Entry{[]byte(`{"type":"user","uuid":"1"}`)}}
	for range 2 {
		if err := db.Append(ctx, key, batch); err != nil {
			return err
		}
	}
	for entry, err := range store.Entries(ctx, db, key) {
		if err != nil {
			return err
		}
		fmt.Println(string(entry))
	}
	return nil
}
