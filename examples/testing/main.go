// Command testing is a small agent that is worth testing: it may read, it may
// not write, and it tries again when the CLI dies. Its tests are the example.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
)

func main() {
	summary, err := summarize(context.Background(), os.Args[1], claude.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary)
}

// readOnly decides about the tools of the agent.
func readOnly(_ context.Context, req *permission.Request) (permission.Decision, error) {
	switch req.ToolName {
	case "Read", "Grep", "Glob":
		return permission.Allow(), nil
	}
	return permission.Deny("you may only read"), nil
}

// summarize takes the options of its caller, so that a test can bring a CLI.
func summarize(ctx context.Context, file string, opts claude.Options) (string, error) {
	opts.CanUseTool = readOnly
	opts.MaxTurns = 10
	for attempt := 1; ; attempt++ {
		res, err := claude.Ask(ctx, "Sum up "+file+" in one sentence.", &opts)
		_, died := errors.AsType[*claude.ProcessError](err)
		switch {
		case err == nil:
			return res.Text, nil
		case !died || attempt == 3:
			return "", err
		}
		select {
		case <-time.After(time.Duration(attempt) * time.Minute):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
