package permission

import "slices"

// BuiltInTools returns the names of the tools that the CLI brings along, of all
// versions that were seen. A session has those that its version and its options
// offer; the message message.Init lists them. The slice is the caller's.
func BuiltInTools() []string { return slices.Clone(builtInTools[:]) }

var builtInTools = [...]string{
	"Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode", "EnterWorktree",
	"ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "LS", "LSP", "ListAgents", "ListMcpResourcesTool", "Monitor",
	"MultiEdit", "NotebookEdit", "NotebookRead", "Read", "ReadMcpResourceTool", "ReportFindings", "ScheduleWakeup", "SendMessage", "Skill",
	"SlashCommand", "StructuredOutput", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
	"TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write",
}
