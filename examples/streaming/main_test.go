package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
)

func read(path string, output any) claudetest.Reply {
	return claudetest.UseTools(claudetest.ScriptedCall{Name: "Read", Input: map[string]string{"file_path": path}, Output: output})
}

func Example() {
	cli := claudetest.New(
		claudetest.Say("Let me look.").With(read("go.mod", "module example")),
		read("LICENCE", errors.New("no such file")),
		claudetest.Say("It is an example."),
	)
	if err := run(context.Background(), os.Stdout, cli); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Let me look.
	// > Read {"file_path":"go.mod"}
	// < 14 bytes
	//
	// > Read {"file_path":"LICENCE"}
	// < failed: no such file
	// It is an example.
	// 0.0 s, $0.0004
}
