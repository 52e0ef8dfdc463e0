package main

import "github.com/claude-agent-go/claude/internal/operation"

// entry maps a name of the official SDK to its name here, or to the reason why it
// has none.
type entry struct {
	here string // "Options.X", "Session.X", "Connect" …; several with commas
	why  string // the reason when it is not offered, else a remark
}

// What more than one entry needs.
const (
	loadTimeout = "Connect's context bounds loading from the store too"
	storeImport = "with ForkOptions.Into, under a new id; claudectl sessions export keeps the id"
)

// options has an entry for each option that has another name here, or a remark.
func options() map[string]entry {
	return map[string]entry{
		"abortController":                 {"", "a context.Context bounds each call, Close ends the session"},
		"additionalDirectories":           {here: "Options.AddDirs"},
		"allowDangerouslySkipPermissions": {here: "Options.AllowBypassPermissions"},
		"enableFileCheckpointing":         {here: "Options.FileCheckpointing"},
		"executable":                      {"", "the CLI is a binary; an older .js runs on node, and Options.Transport starts anything else"},
		"executableArgs":                  {"", "as executable"},
		"includeHookEvents":               {here: "Options.HookEvents"},
		"includePartialMessages":          {here: "Options.PartialMessages"},
		"loadTimeoutMs":                   {"", loadTimeout},
		"managedSettings":                 {"Options.ManagedSettings", "sent in the handshake, not on the command line"},
		"maxThinkingTokens":               {"Options.Thinking", "deprecated there; Budget of it"},
		"outputFormat":                    {"Options.OutputSchema, AskAs", "schemas from Go types"},
		"pathToClaudeCodeExecutable":      {here: "Options.CLIPath"},
		"perTaskStopAffordance":           {here: "Options.PerTaskStop"},
		"permissionPromptToolName":        {here: "Options.PermissionPromptTool"},
		"persistSession":                  {"Options.NoPersistence", "the other way round, so that zero is the default"},
		"pluginDelivery":                  {"", "plugins go by the command line, which every version reads"},
		"resumeSessionAt":                 {here: "Options.ResumeAt"},
		"sessionStore":                    {"Options.Store", "keys are the program's own, sessions have one owner, and nothing is dropped while the store is down"},
		"sessionStoreFlush":               {"Options.Store", "Flush of it: whether results wait for the store"},
		"settings":                        {here: "Options.Settings, Options.SettingsFile"},
		"skills":                          {here: "Options.Skills, Options.AllSkills"},
		"spawnClaudeCodeProcess":          {here: "Options.Transport"},
		"supportedDialogKinds":            {here: "Options.DialogKinds"},
		"toolConfig":                      {"Options.QuestionPreview", "the one setting it has"},
	}
}

// controls has an entry for each control request: those of this side from the
// table of operations, and here what the CLI asks, and what needs a remark.
func controls() map[string]entry {
	table := map[string]entry{
		"can_use_tool":        {here: "Options.CanUseTool"},
		"elicitation":         {here: "Options.OnElicitation"},
		"hook_callback":       {here: "Options.Hooks"},
		"initialize":          {"Connect, Session.Info", "sent once; a second one would replace the hooks"},
		"request_user_dialog": {here: "Options.OnUserDialog"},
		"set_color":           {"", "the CLI refuses it on this channel; Session.Control sends it where it is known"},
		"set_has_subscribers": {"", "for servers that relay a session; Session.Control sends it"},
	}
	for op := range operation.All() {
		if _, remarked := table[op.Subtype]; !remarked {
			table[op.Subtype] = entry{here: op.Methods}
		}
	}
	for _, undeclared := range []string{"end_session", "generate_session_title", "set_mcp_permission_mode_override", "side_question"} {
		delete(table, undeclared) // the CLI has them, the official SDK does not say so
	}
	return table
}

// methods has an entry for each method of a query that has another name here.
func methods() map[string]entry {
	return map[string]entry{
		"accountInfo":                  {here: "Session.Info"},
		"applyFlagSettings":            {here: "SessionSettings.Set"},
		"backgroundTasks":              {here: "SessionTasks.Background, SessionTasks.BackgroundAll"},
		"getContextUsage":              {here: "Session.ContextUsage"},
		"initializationResult":         {here: "Session.Info"},
		"interrupt":                    {here: "Session.Interrupt, Session.InterruptAll"},
		"mcpServerStatus":              {here: "SessionMCP.Status"},
		"readFile":                     {here: "SessionFiles.Read"},
		"readMcpResource":              {here: "SessionMCP.ReadResource"},
		"reconnectMcpServer":           {here: "SessionMCP.Reconnect"},
		"reinitialize":                 {"", "for a client that joins a session of another; a session here has one client from beginning to end"},
		"reloadOutputStyles":           {here: "SessionSettings.ReloadOutputStyles"},
		"reloadPlugins":                {here: "SessionSettings.ReloadPlugins"},
		"reloadSkills":                 {here: "SessionSettings.ReloadSkills"},
		"rewindFiles":                  {here: "SessionFiles.Rewind, SessionFiles.PreviewRewind"},
		"seedReadState":                {here: "SessionFiles.SeedReadState"},
		"setMaxThinkingTokens":         {here: "Session.SetThinking"},
		"setMcpPermissionModeOverride": {here: "SessionMCP.SetPermissionMode"},
		"setMcpServers":                {here: "SessionMCP.Set"},
		"stopTask":                     {here: "SessionTasks.Stop"},
		"streamInput":                  {here: "Session.Send, Session.SendMessage"},
		"supportedAgents":              {here: "Session.Info"},
		"supportedCommands":            {here: "Session.Commands"},
		"supportedModels":              {here: "Session.Info, Session.Models"},
		"toggleMcpServer":              {here: "SessionMCP.Toggle"},
		"updateSettings":               {here: "SessionSettings.Save"},
		"usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET": {here: "Session.Usage"},
	}
}

// exports has an entry for each function and class.
func exports() map[string]entry {
	return map[string]entry{
		"AbortError":                  {"", "the context's own error, or ErrClosed"},
		"InMemorySessionStore":        {here: "store.Memory"},
		"archiveSession":              {here: "history.History.Archive"},
		"createSdkMcpServer":          {here: "tool.NewServer"},
		"deleteSession":               {"history.History.Delete", "removes the copies of files that were kept to rewind to as well"},
		"filterEscalatingDefaultMode": {"", "works on settings that were resolved without the CLI; see resolveSettings"},
		"foldSessionSummary":          {here: "storeimpl.Fold"},
		"forkSession":                 {"history.History.Fork", "ends before a tool call that a hook has put off, unless told otherwise"},
		"getSessionInfo":              {here: "history.History.Info"},
		"getSessionMessages":          {here: "history.Transcript.Messages"},
		"getSubagentMessages":         {here: "history.Transcript.Subagent"},
		"importSessionToStore":        {"history.History.Fork", storeImport},
		"listSessions":                {here: "history.History.List"},
		"listSubagents":               {here: "history.Transcript.Subagents"},
		"matchDeniedModels":           {"", "the CLI holds the list itself, and refuses the model"},
		"prewarm":                     {"", "experimental there: a process that is handed its session later; Pool has sessions ready"},
		"query":                       {here: "Query, Ask, Connect"},
		"renameSession":               {"history.History.Rename", "Session.Rename for a session that runs"},
		"resolveSettings":             {"SessionSettings.Get", "as the CLI that runs resolves them; a second resolver beside it could only differ"},
		"startup":                     {"Connect, Pool", "Connect waits for the handshake and sends no prompt, Pool keeps such sessions"},
		"tagSession":                  {here: "history.History.Tag"},
		"tool":                        {here: "tool.New"},
		"unarchiveSession":            {here: "history.History.Unarchive"},
	}
}

// constants has an entry for each exported constant.
func constants() map[string]entry {
	const phrases = "phrases to recognise in texts; here a reason is a value, not a phrase"
	return map[string]entry{
		"BUILTIN_TOOL_NAMES":             {"message.Init.Tools", "as the CLI that runs lists them; a list made in advance would be that of one version"},
		"EXIT_REASONS":                   {"hook.SessionEndInput.Reason", "a string, because versions add to it"},
		"HOOK_EVENTS":                    {here: "hook.Events"},
		"LEGACY_TOOL_NAME_ALIASES":       {"", "the CLI accepts the former names itself"},
		"ORG_POLICY_LIMIT_PREFIXES":      {"message.AssistantError", phrases},
		"SYSTEM_PROMPT_DYNAMIC_BOUNDARY": {"Options.SystemPrompt", "an element of Sections, or a line of Text, may be the marker"},
		"USAGE_LIMIT_ERROR_PREFIXES":     {"message.AssistantError, message.RateLimit", phrases},
		"USAGE_TRANSITION_PREFIXES":      {"message.RateLimit", phrases},
		"USAGE_WARNING_PREFIXES":         {"message.RateLimit", phrases},
	}
}

// entryPoints has an entry for what each entry point besides the main one adds.
func entryPoints() map[string]entry {
	table := map[string]entry{
		"extract/extractFromBunfs": {"", "for programs packed by Bun; a Go program names the CLI with Options.CLIPath"},
		"sdk-tools":                {"", "types of the built-in tools' inputs and outputs, which change with the CLI; they arrive as raw JSON"},
	}
	for _, name := range []string{"attachBridgeSession", "createCodeSession", "fetchRemoteCredentials", "isCreateSessionFailure", "isCredentialsFailure", "isCredentialsRejection"} {
		table["bridge/"+name] = entry{"", "joins a session that Anthropic's servers host, over a protocol that is not published; package serve shares sessions of this program"}
	}
	for _, name := range []string{"query", "getSseDropCounts", "getSseLastSequenceNum", "getCcrEvent", "suspendSseStream", "resumeSseStream", "G4_TEXT_ENVELOPE_ARM_PORTED"} {
		table["browser/"+name] = entry{"", "follows such a session from a browser; package serve has a page and an API for browsers"}
	}
	return table
}

// untyped has an entry for each message that is delivered without a type of
// its own.
func untyped() map[string]entry {
	return map[string]entry{
		"keep_alive":                  {"", "the session reads it and passes nothing on"},
		"system/worker_shutting_down": {"", "for clients of a bridge to a remote worker, not for a program that has started the CLI"},
	}
}
