package operation

import (
	"iter"

	"github.com/claude-agent-go/claude/control"
)

// Newest is the newest CLI that was measured: it knows every operation.
const Newest = "2.1.325"

// Operation is a row of the table.
type Operation struct {
	// Subtype is its name on the wire.
	Subtype string
	// Methods are the methods of a session that perform it.
	Methods string
	// Lacks is the newest CLI that was seen without it, Has the oldest that was
	// seen with it. Both are empty for operations as old as the channel.
	Lacks, Has string
	// Reply returns a new value that takes the reply. Nil: nothing of it has a
	// type of its own.
	Reply func() any
	// Try is a payload, an object, that does no harm and lets a CLI show whether
	// it knows the operation. Empty: none is needed. Operations that would end
	// the session, or begin another, are Untried.
	Try     string
	Untried bool
}

// When operations came, as measured.
const (
	v2    = "2.0.0"
	v2077 = "2.0.77"
	v21   = "2.1.0"
)

// table has a row for each operation, by their names.
var table = [...]Operation{
	{Subtype: "apply_flag_settings", Methods: "SessionSettings.Set", Lacks: v21, Has: Newest, Try: `{"settings":{}}`},
	{Subtype: "background_tasks", Methods: "SessionTasks.Background, SessionTasks.BackgroundAll", Lacks: v21, Has: Newest},
	{Subtype: "cancel_async_message", Methods: "Session.CancelPrompt", Lacks: v21, Has: Newest, Try: `{"message_uuid":"00000000-0000-4000-8000-0000000000ff"}`},
	{Subtype: "end_session", Methods: "Session.End", Lacks: v21, Has: Newest, Untried: true},
	{Subtype: "file_suggestions", Methods: "SessionFiles.Suggest", Lacks: v21, Has: Newest, Reply: as[control.FileSuggestions], Try: `{"query":"a"}`},
	{Subtype: "generate_session_title", Methods: "Session.GenerateTitle", Lacks: v21, Has: Newest, Try: `{"description":"a talk"}`},
	{Subtype: "get_binary_version", Methods: "Session.BinaryVersion", Lacks: v21, Has: Newest, Reply: as[control.BinaryVersion]},
	{Subtype: "get_context_usage", Methods: "Session.ContextUsage", Lacks: v21, Has: Newest, Reply: as[control.ContextUsage]},
	{Subtype: "get_hooks_listing", Methods: "SessionSettings.Hooks", Lacks: v21, Has: Newest, Reply: as[control.Hooks]},
	{Subtype: "get_session_cost", Methods: "Session.Cost", Lacks: v21, Has: Newest, Reply: as[control.SessionCost]},
	{Subtype: "get_settings", Methods: "SessionSettings.Get", Lacks: v21, Has: Newest, Reply: as[control.Settings]},
	{Subtype: "get_task_output", Methods: "SessionTasks.Output", Lacks: v21, Has: Newest, Reply: as[control.TaskOutput], Try: `{"task_id":"x"}`},
	{Subtype: "get_usage", Methods: "Session.Usage", Lacks: v21, Has: Newest, Reply: as[control.UsageReport]},
	{Subtype: "initialize", Methods: "Connect, Session.Info", Reply: as[control.Info], Untried: true},
	{Subtype: "interrupt", Methods: "Session.Interrupt, Session.InterruptAll", Reply: as[control.Interrupted]},
	{Subtype: "list_models", Methods: "Session.Models", Lacks: v21, Has: Newest},
	{Subtype: "list_permission_rules", Methods: "SessionSettings.PermissionRules", Lacks: v21, Has: Newest, Reply: as[control.PermissionRules]},
	{Subtype: "mcp_call", Methods: "SessionMCP.Call", Lacks: v21, Has: Newest, Reply: as[control.MCPCallResult], Try: `{"tool":"mcp__a__b"}`},
	{Subtype: "mcp_message", Methods: "Options.MCPServers", Untried: true},
	{Subtype: "mcp_read_resource", Methods: "SessionMCP.ReadResource", Lacks: v21, Has: Newest, Try: `{"serverName":"a","uri":"ui://b"}`},
	{Subtype: "mcp_reconnect", Methods: "SessionMCP.Reconnect", Lacks: v21, Has: Newest, Try: `{"serverName":"a"}`},
	{Subtype: "mcp_set_servers", Methods: "SessionMCP.Set", Lacks: v2, Has: v2077, Reply: as[control.MCPSetResult], Try: `{"servers":{}}`},
	{Subtype: "mcp_status", Methods: "SessionMCP.Status", Lacks: "1.0.85", Has: "1.0.128", Reply: as[struct {
		Servers []control.MCPServerStatus `json:"mcpServers"`
	}]},
	{Subtype: "mcp_toggle", Methods: "SessionMCP.Toggle", Lacks: v21, Has: Newest, Try: `{"serverName":"a","enabled":true}`},
	{Subtype: "read_file", Methods: "SessionFiles.Read", Lacks: v21, Has: Newest, Reply: as[control.FileContents], Try: `{"path":"a"}`},
	{Subtype: "register_repo_root", Methods: "SessionFiles.RegisterRepoRoot", Lacks: v21, Has: Newest, Try: `{"directory":"a"}`},
	{Subtype: "reload_output_styles", Methods: "SessionSettings.ReloadOutputStyles", Lacks: v21, Has: Newest},
	{Subtype: "reload_plugins", Methods: "SessionSettings.ReloadPlugins", Lacks: v21, Has: Newest, Reply: as[control.PluginReload]},
	{Subtype: "reload_skills", Methods: "SessionSettings.ReloadSkills", Lacks: v21, Has: Newest},
	{Subtype: "rename_session", Methods: "Session.Rename", Lacks: v21, Has: Newest, Try: `{"title":"t"}`},
	{Subtype: "rewind_files", Methods: "SessionFiles.Rewind, SessionFiles.PreviewRewind", Lacks: v2, Has: v2077, Reply: as[control.Rewind],
		Try: `{"user_message_id":"00000000-0000-4000-8000-0000000000ff","dry_run":true}`},
	{Subtype: "seed_read_state", Methods: "SessionFiles.SeedReadState", Lacks: v21, Has: Newest, Try: `{"path":"a","mtime":1}`},
	{Subtype: "set_max_thinking_tokens", Methods: "Session.SetThinking", Lacks: v2, Has: v2077, Try: `{"max_thinking_tokens":null}`},
	{Subtype: "set_mcp_permission_mode_override", Methods: "SessionMCP.SetPermissionMode", Lacks: v21, Has: Newest, Try: `{"serverName":"a","mode":null}`},
	{Subtype: "set_model", Methods: "Session.SetModel", Lacks: "1.0.85", Has: "1.0.128", Try: `{"model":null}`},
	{Subtype: "set_permission_mode", Methods: "Session.SetPermissionMode", Lacks: "1.0.63", Has: "1.0.85", Try: `{"mode":"default"}`},
	{Subtype: "side_question", Methods: "Session.AskSideQuestion", Lacks: v21, Has: Newest, Reply: as[control.SideAnswer], Try: `{"question":"what?"}`},
	{Subtype: "stop_task", Methods: "SessionTasks.Stop", Lacks: v21, Has: Newest, Try: `{"task_id":"x"}`},
	{Subtype: "update_settings", Methods: "SessionSettings.Save", Lacks: v21, Has: Newest, Try: `{"source":"localSettings","settings":{}}`},
}

func as[T any]() any { return new(T) }

// All yields the rows, by their names.
func All() iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		rows := table[:]
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}

// Find returns the row of an operation, nil if there is none.
func Find(subtype string) *Operation {
	for op := range All() {
		if op.Subtype == subtype {
			return op
		}
	}
	return nil
}
