package claude_test

import (
	"context"
	"fmt"
	"log"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission/policy"
)

// A service gives each customer a folder. Nothing above it reaches the model, and the
// file tools stay in it.
func ExampleTenant() {
	ctx := context.Background()
	opts, err := claude.Tenant("/srv/tenants/acme")
	if err != nil {
		log.Fatal(err)
	}
	opts.Hooks = append(opts.Hooks, hook.Guard("", policy.Confine(opts.Cwd)))
	opts.DisallowedTools = []string{"Bash"}
	opts.Subagents = claude.SubagentLimits{AtOnce: 2, Depth: 1, Total: 20}
	res, err := claude.Ask(ctx, "Summarize the reports in this folder", opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
}
