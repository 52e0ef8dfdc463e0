package claude_test

import (
	"context"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
)

// A permission policy is tested without a CLI, a network or an account: a
// scripted CLI in this process asks for whatever the test wants to see decided.
func Example_testing() {
	ctx := context.Background()
	policy := func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		var in struct {
			Command string `json:"command"`
		}
		if err := req.DecodeInput(&in); err != nil || in.Command != "git status" {
			return permission.Deny("only git status here"), nil
		}
		return permission.Allow(), nil
	}
	for _, command := range []string{"git status", "rm -rf /"} {
		cli := claudetest.New( // the model's answers, in order
			claudetest.UseTool("Bash", map[string]string{"command": command}),
			claudetest.Say("Done."),
		)
		if _, err := claude.Ask(ctx, "Go.", &claude.Options{Transport: cli, CanUseTool: policy}); err != nil {
			fmt.Println(err)
		}
		bash := cli.Recording().Tools()[0]
		fmt.Println(command, "ran:", bash.Ran, "output:", bash.Output)
	}
	// Output:
	// git status ran: true output: ok
	// rm -rf / ran: false output: only git status here
}
