package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

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
	var out strings.Builder
	if err := run(context.Background(), &out, cli); err != nil {
		fmt.Println(err)
	}
	fmt.Print(regexp.MustCompile(`\d+\.\d s`).ReplaceAllString(out.String(), "0.0 s")) // on a busy machine it takes longer
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
