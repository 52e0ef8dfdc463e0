package permission

import "slices"

// BuiltInTools returns the names of the CLI's built-in tools, from all
// versions known to this package. Which of them a session has depends on its
// version and its options; message.Init lists them. The caller owns the slice.
func BuiltInTools() []string { return slices.Clone(builtInTools[:]) }

var builtInTools = [...]string{
	"Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode", "EnterWorktree",
	"ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "LS", "LSP", "ListAgents", "ListMcpResourcesTool", "Monitor",
	"MultiEdit", "NotebookEdit", "NotebookRead", "Read", "ReadMcpResourceTool", "ReportFindings", "ScheduleWakeup", "SendMessage", "Skill",
	"SlashCommand", "StructuredOutput", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
	"TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write",
}
