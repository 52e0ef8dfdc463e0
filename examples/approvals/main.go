// Command approvals asks a person before a tool runs, and remembers what is
// always allowed.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in io.Reader, w io.Writer, cli claude.Transport) error {
	questions := make(chan *policy.PendingRequest)
	defer close(questions)
	go func() {
		answers := bufio.NewScanner(in)
		for q := range questions { // one at a time, although tools may ask at once
			q.Answer(decide(q.Request, answers, w))
		}
	}()
	res, err := claude.Ask(ctx, "Create hello.txt and run the tests", &claude.Options{
		CanUseTool: policy.First(
			policy.MustRules("Bash(rm:*)").Deny("files are removed by hand here"),
			policy.MustRules("Bash(go test:*)").Allow(),
			policy.Ask(questions, 0),
		),
		Transport: cli,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, res.Text)
	return nil
}

// decide shows a tool call and reads the answer: a no may have a reason, which
// the model reads.
func decide(req *permission.Request, answers *bufio.Scanner, w io.Writer) permission.Decision {
	fmt.Fprintf(w, "%s %s\n(y)es, (a)lways, or why not? ", req.ToolName, req.Input)
	if !answers.Scan() {
		return permission.DenyAndStop("nobody is there to ask")
	}
	fmt.Fprintln(w)
	switch answer := strings.TrimSpace(answers.Text()); answer {
	case "y":
		return permission.Allow()
	case "a":
		return permission.Allow(req.Suggestions...) // the rules that the CLI proposes
	default:
		return permission.Deny("The user says: " + answer)
	}
}
