package main

import (
	"context"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
)

func Example() {
	cli := claudetest.New(
		claudetest.UseTool("Write", map[string]string{"file_path": "README.md", "content": "Roses are red."}),
		claudetest.Say("Done."),
	)
	if err := run(context.Background(), os.Stdout, ".", cli); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(cli.Recording().Requests("rewind_files")), "requests")
	// Output:
	// changed: README.md
	// taken back
	// 2 requests
}

// A turn that fails is not taken for one that is done.
func Example_failed() {
	cli := claudetest.New(claudetest.Fail(400, "invalid_request_error", "bad request").Forever())
	fmt.Println(run(context.Background(), os.Stdout, ".", cli))
	// Output: claude: turn failed: api_error: 400 bad request
}
