package claude_test

import (
	"context"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

func ExampleNewPool() {
	ctx := context.Background()
	opts := &claude.Options{Transport: claudetest.New(claudetest.Say("Hello."))}

	pool, err := claude.NewPool(ctx, opts, claude.PoolOptions{Size: 2}) // once, at the start of the program
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()

	s, err := pool.Get(ctx) // for each request: a session that is ready
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	res, err := s.Ask(ctx, "Hi.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output: Hello.
}
