// Command guard looks at every tool call before it runs, also at those that
// the CLI would not ask about.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission/policy"
)

func main() {
	if err := run(context.Background(), os.Stdout, ".", nil); err != nil {
		log.Fatal(err)
	}
}

// guard denies or has no opinion: what it lets pass is still subject to the
// rules of the CLI. If it fails, the tool does not run.
func guard(dir string) hook.Hook {
	return hook.Guard("", policy.First(
		policy.MustRules("Bash(rm:*)", "Bash(curl:*)", "WebFetch", "Edit(.env)").At(dir).Deny("not in this project"),
		policy.Confine(dir),
	))
}

// stamp changes the input of a tool: commits get a trailer.
func stamp(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	input := make(map[string]any)
	if err := in.DecodeInput(&input); err != nil || input["command"] != "git commit" {
		return nil, err // nil: no opinion
	}
	input["command"] = "git commit --trailer 'Assisted-by: Claude'"
	return hook.RewriteInput(input), nil
}

func run(ctx context.Context, w io.Writer, dir string, cli claude.Transport) error {
	opts := claude.Hardened() // nothing of the project itself can weaken the guard
	opts.Cwd, opts.Transport = dir, cli
	opts.AllowedTools = []string{"Read", "Edit", "Bash(go test:*)", "Bash(git commit:*)"}
	opts.Hooks = []hook.Hook{guard(dir), hook.PreToolUse("Bash", stamp).FailClosed()}

	var calls message.ToolCalls
	for msg, err := range claude.Query(ctx, "Tidy up and commit", opts) {
		if err != nil {
			return err
		}
		for _, call := range calls.Add(msg) {
			if call.Result != nil {
				fmt.Fprintf(w, "%s: %s\n", call.Use.Name, call.Result.Content.Text())
			}
		}
	}
	return nil
}
