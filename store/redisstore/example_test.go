package redisstore_test

import (
	"context"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store/redisstore"
)

// The answer is in Redis when Ask returns, and any machine can continue the session.
func Example() {
	ctx := context.Background()
	db, err := redisstore.Open(ctx, "redis://cache.internal:6379/0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	res, err := claude.Ask(ctx, "What is 2+2?", &claude.Options{
		Store: &claude.StoreOptions{Store: db, Project: "tenant-7"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text, res.SessionID)
}
