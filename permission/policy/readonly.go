package policy

import (
	"context"
	"slices"

	"github.com/claude-agent-go/claude/permission"
)

// ReadOnly denies every tool that is not known to leave the machine unchanged,
// and passes the rest: the tools that read and search files, and those the
// model uses to plan, ask and report. Shell commands, web requests, subagents
// and all MCP tools are denied, because their names do not reveal what they do.
// Permit those you know before it:
//
//	policy.First(policy.MustRules("mcp__docs__search").Allow(), policy.ReadOnly(), …)
func ReadOnly() permission.Func {
	return func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		if slices.Contains(harmless[:], req.ToolName) {
			return permission.Pass(), nil
		}
		return permission.Deny("Only tools that read are allowed here, and " + req.ToolName + " may do more."), nil
	}
}

var harmless = [...]string{
	"Read", "NotebookRead", "Glob", "Grep", "LS", "LSP",
	"TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList",
	"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ToolSearch", "StructuredOutput",
	"BashOutput", "TaskOutput",
}
