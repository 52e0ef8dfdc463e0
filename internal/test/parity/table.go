package main

// entry says what a name of the official SDK is here, or why it is not.
type entry struct {
	here string // "Options.X", "Session.X", "Connect" …; several with commas
	why  string // the reason when it is not offered, else a remark
}

// Reasons that more than one entry has.
const (
	noStore = "sessions are kept by the CLI itself; a store beside it is not part of driving it"
)

// options has an entry for each option.
func options() map[string]entry {
	return map[string]entry{
		"abortController":                 {"", "a context.Context bounds each call, Close ends the session"},
		"additionalDirectories":           {here: "Options.AddDirs"},
		"agent":                           {here: "Options.Agent"},
		"agentProgressSummaries":          {here: "Options.AgentProgressSummaries"},
		"agents":                          {here: "Options.Agents"},
		"allowDangerouslySkipPermissions": {here: "Options.AllowBypassPermissions"},
		"allowedTools":                    {here: "Options.AllowedTools"},
		"betas":                           {here: "Options.Betas"},
		"canUseTool":                      {here: "Options.CanUseTool"},
		"continue":                        {here: "Options.Continue"},
		"cwd":                             {here: "Options.Cwd"},
		"debug":                           {here: "Options.Debug"},
		"debugFile":                       {here: "Options.DebugFile"},
		"disallowedTools":                 {here: "Options.DisallowedTools"},
		"effort":                          {here: "Options.Effort"},
		"enableFileCheckpointing":         {here: "Options.FileCheckpointing"},
		"env":                             {here: "Options.Env"},
		"executable":                      {"", "the CLI is a binary; an older .js runs on node, and Options.Transport starts anything else"},
		"executableArgs":                  {"", "as executable"},
		"extraArgs":                       {here: "Options.ExtraArgs"},
		"fallbackModel":                   {here: "Options.FallbackModel"},
		"forkSession":                     {here: "Options.ForkSession"},
		"forwardSubagentText":             {here: "Options.ForwardSubagentText"},
		"hooks":                           {here: "Options.Hooks"},
		"includeHookEvents":               {here: "Options.HookEvents"},
		"includePartialMessages":          {here: "Options.PartialMessages"},
		"loadTimeoutMs":                   {"", noStore},
		"managedSettings":                 {"Options.ManagedSettings", "sent in the handshake, not on the command line"},
		"maxBudgetUsd":                    {here: "Options.MaxBudgetUSD"},
		"maxThinkingTokens":               {"Options.Thinking", "deprecated there; Budget of it"},
		"maxTurns":                        {here: "Options.MaxTurns"},
		"mcpServers":                      {here: "Options.MCPServers"},
		"model":                           {here: "Options.Model"},
		"onElicitation":                   {here: "Options.OnElicitation"},
		"onUserDialog":                    {here: "Options.OnUserDialog"},
		"outputFormat":                    {"Options.OutputSchema, AskAs", "schemas from Go types"},
		"pathToClaudeCodeExecutable":      {here: "Options.CLIPath"},
		"perTaskStopAffordance":           {here: "Options.PerTaskStop"},
		"permissionMode":                  {here: "Options.PermissionMode"},
		"permissionPromptToolName":        {here: "Options.PermissionPromptTool"},
		"permissionPrompts":               {here: "Options.PermissionPrompts"},
		"persistSession":                  {"Options.NoPersistence", "the other way round, so that zero is the default"},
		"planModeInstructions":            {here: "Options.PlanModeInstructions"},
		"pluginDelivery":                  {"", "plugins go by the command line, which every version reads"},
		"plugins":                         {here: "Options.Plugins"},
		"projectConfigRoot":               {here: "Options.ProjectConfigRoot"},
		"promptSuggestions":               {here: "Options.PromptSuggestions"},
		"resume":                          {here: "Options.Resume"},
		"resumeDropsTurn":                 {here: "Options.ResumeDropsTurn"},
		"resumeSessionAt":                 {here: "Options.ResumeAt"},
		"sandbox":                         {here: "Options.Sandbox"},
		"sessionId":                       {here: "Options.SessionID"},
		"sessionStore":                    {"", noStore},
		"sessionStoreFlush":               {"", noStore},
		"settingSources":                  {here: "Options.SettingSources"},
		"settings":                        {here: "Options.Settings, Options.SettingsFile"},
		"skills":                          {here: "Options.Skills, Options.AllSkills"},
		"spawnClaudeCodeProcess":          {here: "Options.Transport"},
		"stderr":                          {here: "Options.Stderr"},
		"strictMcpConfig":                 {here: "Options.StrictMCPConfig"},
		"supportedDialogKinds":            {here: "Options.DialogKinds"},
		"systemPrompt":                    {here: "Options.SystemPrompt"},
		"taskBudget":                      {here: "Options.TaskBudget"},
		"thinking":                        {here: "Options.Thinking"},
		"title":                           {here: "Options.Title"},
		"toolAliases":                     {here: "Options.ToolAliases"},
		"toolConfig":                      {"Options.QuestionPreview", "the one setting it has"},
		"tools":                           {here: "Options.Tools"},
		"verbatimPrompts":                 {here: "Options.VerbatimPrompts"},
	}
}

// controls has an entry for each control request, of either side.
func controls() map[string]entry {
	return map[string]entry{
		"apply_flag_settings":     {here: "Session.SetSettings"},
		"background_tasks":        {here: "Session.BackgroundTask, Session.BackgroundTasks"},
		"can_use_tool":            {here: "Options.CanUseTool"},
		"cancel_async_message":    {here: "Session.CancelPrompt"},
		"elicitation":             {here: "Options.OnElicitation"},
		"file_suggestions":        {here: "Session.SuggestFiles"},
		"get_binary_version":      {here: "Session.BinaryVersion"},
		"get_context_usage":       {here: "Session.ContextUsage"},
		"get_hooks_listing":       {here: "Session.Hooks"},
		"get_session_cost":        {here: "Session.Cost"},
		"get_settings":            {here: "Session.Settings"},
		"get_task_output":         {here: "Session.ReadTaskOutput"},
		"get_usage":               {here: "Session.Usage"},
		"hook_callback":           {here: "Options.Hooks"},
		"initialize":              {"Connect, Session.Info", "sent once; a second one would replace the hooks"},
		"interrupt":               {here: "Session.Interrupt, Session.InterruptAll"},
		"list_models":             {here: "Session.Models"},
		"list_permission_rules":   {here: "Session.PermissionRules"},
		"mcp_call":                {here: "Session.CallMCPTool"},
		"mcp_message":             {here: "Options.MCPServers"},
		"mcp_read_resource":       {here: "Session.ReadMCPResource"},
		"mcp_reconnect":           {here: "Session.ReconnectMCPServer"},
		"mcp_set_servers":         {here: "Session.SetMCPServers"},
		"mcp_status":              {here: "Session.MCPServerStatus"},
		"mcp_toggle":              {here: "Session.ToggleMCPServer"},
		"read_file":               {here: "Session.ReadFile"},
		"register_repo_root":      {here: "Session.RegisterRepoRoot"},
		"reload_output_styles":    {here: "Session.ReloadOutputStyles"},
		"reload_plugins":          {here: "Session.ReloadPlugins"},
		"reload_skills":           {here: "Session.ReloadSkills"},
		"rename_session":          {here: "Session.Rename"},
		"request_user_dialog":     {here: "Options.OnUserDialog"},
		"rewind_files":            {here: "Session.RewindFiles, Session.PreviewRewind"},
		"seed_read_state":         {here: "Session.SeedReadState"},
		"set_color":               {"", "the CLI refuses it on this channel; Session.Control sends it where it is known"},
		"set_has_subscribers":     {"", "for servers that relay a session; Session.Control sends it"},
		"set_max_thinking_tokens": {here: "Session.SetThinking"},
		"set_model":               {here: "Session.SetModel"},
		"set_permission_mode":     {here: "Session.SetPermissionMode"},
		"stop_task":               {here: "Session.StopTask"},
		"update_settings":         {here: "Session.SaveSettings"},
	}
}

// methods has an entry for each method of a query.
func methods() map[string]entry {
	return map[string]entry{
		"accountInfo":                  {here: "Session.Info"},
		"applyFlagSettings":            {here: "Session.SetSettings"},
		"backgroundTasks":              {here: "Session.BackgroundTask, Session.BackgroundTasks"},
		"close":                        {here: "Session.Close"},
		"getContextUsage":              {here: "Session.ContextUsage"},
		"initializationResult":         {here: "Session.Info"},
		"interrupt":                    {here: "Session.Interrupt, Session.InterruptAll"},
		"mcpServerStatus":              {here: "Session.MCPServerStatus"},
		"readFile":                     {here: "Session.ReadFile"},
		"readMcpResource":              {here: "Session.ReadMCPResource"},
		"reconnectMcpServer":           {here: "Session.ReconnectMCPServer"},
		"reinitialize":                 {"", "for a client that joins a session of another; a session here has one client from beginning to end"},
		"reloadOutputStyles":           {here: "Session.ReloadOutputStyles"},
		"reloadPlugins":                {here: "Session.ReloadPlugins"},
		"reloadSkills":                 {here: "Session.ReloadSkills"},
		"rewindFiles":                  {here: "Session.RewindFiles, Session.PreviewRewind"},
		"seedReadState":                {here: "Session.SeedReadState"},
		"setMaxThinkingTokens":         {here: "Session.SetThinking"},
		"setMcpPermissionModeOverride": {here: "Session.SetMCPPermissionMode"},
		"setMcpServers":                {here: "Session.SetMCPServers"},
		"setModel":                     {here: "Session.SetModel"},
		"setPermissionMode":            {here: "Session.SetPermissionMode"},
		"stopTask":                     {here: "Session.StopTask"},
		"streamInput":                  {here: "Session.Send, Session.SendMessage"},
		"supportedAgents":              {here: "Session.Info"},
		"supportedCommands":            {here: "Session.Commands"},
		"supportedModels":              {here: "Session.Info, Session.Models"},
		"toggleMcpServer":              {here: "Session.ToggleMCPServer"},
		"updateSettings":               {here: "Session.SaveSettings"},
		"usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET": {here: "Session.Usage"},
	}
}

// exports has an entry for each function and class.
func exports() map[string]entry {
	return map[string]entry{
		"AbortError":                  {"", "the context's own error, or ErrClosed"},
		"InMemorySessionStore":        {"", noStore},
		"archiveSession":              {here: "history.History.Archive"},
		"createSdkMcpServer":          {here: "tool.NewServer"},
		"deleteSession":               {"history.History.Delete", "removes the copies of files that were kept to rewind to as well"},
		"filterEscalatingDefaultMode": {"", "works on settings that were resolved without the CLI; see resolveSettings"},
		"foldSessionSummary":          {"", noStore},
		"forkSession":                 {"history.History.Fork", "ends before a tool call that a hook has put off, unless told otherwise"},
		"getSessionInfo":              {here: "history.History.Info"},
		"getSessionMessages":          {here: "history.Transcript.Messages"},
		"getSubagentMessages":         {here: "history.Transcript.Subagent"},
		"importSessionToStore":        {"", noStore},
		"listSessions":                {here: "history.History.List"},
		"listSubagents":               {here: "history.Transcript.Subagents"},
		"matchDeniedModels":           {"", "the CLI holds the list itself, and refuses the model"},
		"prewarm":                     {"", "experimental there: a process that is handed its session later; Pool has sessions ready"},
		"query":                       {here: "Query, Ask, Connect"},
		"renameSession":               {"history.History.Rename", "Session.Rename for a session that runs"},
		"resolveSettings":             {"Session.Settings", "as the CLI that runs resolves them; a second resolver beside it could only differ"},
		"startup":                     {"Connect, Pool", "Connect waits for the handshake and sends no prompt, Pool keeps such sessions"},
		"tagSession":                  {here: "history.History.Tag"},
		"tool":                        {here: "tool.New"},
		"unarchiveSession":            {here: "history.History.Unarchive"},
	}
}

// untyped has an entry for each message that is delivered without a type of
// its own.
func untyped() map[string]entry {
	return map[string]entry{
		"system/worker_shutting_down": {"", "for clients of a bridge to a remote worker, not for a program that has started the CLI"},
		"system/mirror_error":         {"", "made by the official SDK for its session store, never sent by the CLI"},
	}
}
