package main

// What the Python SDK has is read by people: its package is not needed for
// anything else here.
const (
	pythonPackage = "claude-agent-sdk"
	pythonVersion = "0.2.143"
)

// pythonOptions has an entry for each field of ClaudeAgentOptions.
func pythonOptions() map[string]entry {
	return map[string]entry{
		"add_dirs":                    {here: "Options.AddDirs"},
		"agents":                      {here: "Options.Agents"},
		"allowed_tools":               {here: "Options.AllowedTools"},
		"betas":                       {here: "Options.Betas"},
		"can_use_tool":                {here: "Options.CanUseTool"},
		"cli_path":                    {here: "Options.CLIPath"},
		"continue_conversation":       {here: "Options.Continue"},
		"cwd":                         {here: "Options.Cwd"},
		"debug_stderr":                {"", "has no effect there either"},
		"disallowed_tools":            {here: "Options.DisallowedTools"},
		"effort":                      {here: "Options.Effort"},
		"enable_file_checkpointing":   {here: "Options.FileCheckpointing"},
		"env":                         {"Options.Env", "the whole environment; there it is added to the inherited one"},
		"extra_args":                  {here: "Options.ExtraArgs"},
		"fallback_model":              {here: "Options.FallbackModel"},
		"fork_session":                {here: "Options.ForkSession"},
		"forward_subagent_text":       {here: "Options.ForwardSubagentText"},
		"hooks":                       {here: "Options.Hooks"},
		"include_hook_events":         {here: "Options.HookEvents"},
		"include_partial_messages":    {here: "Options.PartialMessages"},
		"load_timeout_ms":             {"", loadTimeout},
		"max_budget_usd":              {here: "Options.MaxBudgetUSD"},
		"max_buffer_size":             {"Options.Limits", "Line of it, 64 MiB by default"},
		"max_thinking_tokens":         {"Options.Thinking", "Budget of it"},
		"max_turns":                   {here: "Options.MaxTurns"},
		"mcp_servers":                 {here: "Options.MCPServers"},
		"model":                       {here: "Options.Model"},
		"output_format":               {here: "Options.OutputSchema, AskAs"},
		"permission_mode":             {here: "Options.PermissionMode"},
		"permission_prompt_tool_name": {here: "Options.PermissionPromptTool"},
		"plugins":                     {here: "Options.Plugins"},
		"resume":                      {here: "Options.Resume"},
		"resume_drops_turn":           {here: "Options.ResumeDropsTurn"},
		"resume_session_at":           {here: "Options.ResumeAt"},
		"sandbox":                     {here: "Options.Sandbox"},
		"session_id":                  {here: "Options.SessionID"},
		"session_store":               {"Options.Store", "keys are the program's own, sessions have one owner, and nothing is dropped while the store is down"},
		"session_store_flush":         {"Options.Store", "Flush of it: whether results wait for the store"},
		"setting_sources":             {here: "Options.SettingSources"},
		"settings":                    {here: "Options.Settings, Options.SettingsFile"},
		"skills":                      {"Options.Skills, Options.AllSkills", "they do not change SettingSources"},
		"stderr":                      {here: "Options.Stderr"},
		"strict_mcp_config":           {here: "Options.StrictMCPConfig"},
		"system_prompt":               {"Options.SystemPrompt", "a file is read by the program"},
		"task_budget":                 {here: "Options.TaskBudget"},
		"thinking":                    {here: "Options.Thinking"},
		"tools":                       {here: "Options.Tools"},
		"user":                        {"Options.Transport", "a transport can start the CLI as another user"},
	}
}

// pythonMethods has an entry for each method of ClaudeSDKClient.
func pythonMethods() map[string]entry {
	return map[string]entry{
		"connect":              {here: "Connect"},
		"disconnect":           {here: "Session.Close"},
		"get_context_usage":    {here: "Session.ContextUsage"},
		"get_mcp_status":       {here: "SessionMCP.Status"},
		"get_server_info":      {here: "Session.Info"},
		"interrupt":            {here: "Session.Interrupt"},
		"query":                {here: "Session.Send, Session.SendMessage"},
		"receive_messages":     {here: "Session.Messages"},
		"receive_response":     {here: "Session.Run"},
		"reconnect_mcp_server": {here: "SessionMCP.Reconnect"},
		"rewind_files":         {here: "SessionFiles.Rewind"},
		"set_model":            {here: "Session.SetModel"},
		"set_permission_mode":  {here: "Session.SetPermissionMode"},
		"stop_task":            {here: "SessionTasks.Stop"},
		"toggle_mcp_server":    {here: "SessionMCP.Toggle"},
	}
}

// pythonExports has an entry for each function and class besides types.
func pythonExports() map[string]entry {
	table := map[string]entry{
		"ClaudeSDKClient":           {here: "Session"},
		"InMemorySessionStore":      {here: "store.Memory"},
		"Transport":                 {here: "Transport"},
		"create_sdk_mcp_server":     {here: "tool.NewServer"},
		"fold_session_summary":      {here: "storeimpl.Fold"},
		"delete_session":            {here: "history.History.Delete"},
		"fork_session":              {here: "history.History.Fork"},
		"get_session_info":          {here: "history.History.Info"},
		"get_session_messages":      {here: "history.Transcript.Messages"},
		"get_subagent_messages":     {here: "history.Transcript.Subagent"},
		"import_session_to_store":   {"history.History.Fork", storeImport},
		"list_sessions":             {here: "history.History.List"},
		"list_subagents":            {here: "history.Transcript.Subagents"},
		"project_key_for_directory": {"", "a project in a store has the name that the program gives it"},
		"query":                     {here: "Query, Ask"},
		"rename_session":            {"history.History.Rename", "Session.Rename for a session that runs"},
		"tag_session":               {here: "history.History.Tag"},
		"tool":                      {here: "tool.New"},
	}
	for name, method := range map[string]string{
		"list_sessions_from_store": "History.List", "get_session_info_from_store": "History.Info", "get_session_messages_from_store": "Transcript.Messages",
		"list_subagents_from_store": "Transcript.Subagents", "get_subagent_messages_from_store": "Transcript.Subagent",
		"rename_session_via_store": "History.Rename", "tag_session_via_store": "History.Tag", "delete_session_via_store": "History.Delete", "fork_session_via_store": "History.Fork",
	} {
		table[name] = entry{"history.In, history." + method, ""}
	}
	return table
}
