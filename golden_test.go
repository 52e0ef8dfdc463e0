package claude_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/permission"
)

// golden holds what a CLI is given for some options: arguments after those that
// are always there, variables besides those of Options.Env, the handshake
// without its subtype, and the files for settings and MCP servers.
type golden struct {
	opts     claude.Options
	args     []string
	env      []string
	init     string
	settings string
	servers  string
}

func goldens() map[string]golden {
	type m = map[string]any
	const (
		id    = "--session-id=00000000-0000-4000-8000-000000000001"
		empty = "--system-prompt="
		said  = `{"systemPrompt":""}`
	)
	preset := claude.SystemPrompt{Preset: true}
	dialog := func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
		return control.CancelDialog(), nil
	}
	pre := func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil }
	// with is a case that shows on the command line only.
	with := func(o claude.Options, args ...string) golden { return golden{opts: o, args: args, init: said} }
	// says returns a case that shows in the handshake only.
	says := func(o claude.Options, init string) golden {
		o.SystemPrompt = preset
		return golden{opts: o, args: []string{id}, init: init}
	}
	return map[string]golden{
		"nothing": with(claude.Options{}, empty, id),

		"model":            with(claude.Options{Model: "opus", FallbackModel: "sonnet", Effort: claude.EffortHigh}, "--model=opus", "--fallback-model=sonnet", "--effort=high", empty, id),
		"thinking":         with(claude.Options{Thinking: claude.Thinking{Mode: claude.ThinkingEnabled, Budget: 1024, Display: claude.ThinkingOmitted}}, "--max-thinking-tokens=1024", "--thinking-display=omitted", empty, id),
		"thinking enabled": with(claude.Options{Thinking: claude.Thinking{Mode: claude.ThinkingEnabled}}, "--thinking=adaptive", empty, id),
		"thinking off":     with(claude.Options{Thinking: claude.Thinking{Mode: claude.ThinkingDisabled}}, "--thinking=disabled", empty, id),
		"betas":            with(claude.Options{Betas: []string{"a-1", "b-2"}}, "--betas=a-1,b-2", empty, id),

		"own prompt":    {opts: claude.Options{SystemPrompt: claude.SystemPrompt{Text: "Be brief.", Append: "Please."}}, args: []string{id}, init: `{"appendSystemPrompt":"Please.","systemPrompt":"Be brief."}`},
		"more prompt":   {opts: claude.Options{SystemPrompt: claude.SystemPrompt{Append: "Please."}}, args: []string{empty, id}, init: `{"appendSystemPrompt":"Please.","systemPrompt":""}`},
		"preset prompt": says(claude.Options{}, `{}`),
		"sections":      {opts: claude.Options{SystemPrompt: claude.SystemPrompt{Sections: []string{"a", "b"}, Fresh: true}}, args: []string{id}, init: `{"systemPrompt":["a","b"],"systemPromptSnapshot":false}`},
		"static prompt": {opts: claude.Options{SystemPrompt: claude.SystemPrompt{Preset: true, Static: true}}, args: []string{id}, init: `{"excludeDynamicSections":true}`},
		"plan":          says(claude.Options{PlanModeInstructions: "p"}, `{"planModeInstructions":"p"}`),

		"schema":      {opts: claude.Options{OutputSchema: json.RawMessage(`{"type":"object"}`)}, args: []string{empty, `--json-schema={"type":"object"}`, id}, init: `{"systemPrompt":"","jsonSchema":{"type":"object"}}`},
		"tools":       with(claude.Options{Tools: []string{"Read", "Bash"}, AllowedTools: []string{"Read", "Bash(git:*)"}, DisallowedTools: []string{"Write"}}, empty, "--tools=Read,Bash", "--allowedTools=Read,Bash(git:*)", "--disallowedTools=Write", id),
		"no tools":    with(claude.Options{Tools: []string{}, AllowedTools: []string{}}, empty, "--tools=", id),
		"aliases":     says(claude.Options{ToolAliases: map[string]string{"Bash": "mcp__b__bash"}}, `{"toolAliases":{"Bash":"mcp__b__bash"}}`),
		"permissions": with(claude.Options{PermissionMode: permission.ModePlan, AllowBypassPermissions: true, CanUseTool: allowAll}, empty, "--permission-mode=plan", "--allow-dangerously-skip-permissions", "--permission-prompt-tool=stdio", id),
		"prompt tool": with(claude.Options{PermissionPromptTool: "mcp__x__ask"}, empty, "--permission-prompt-tool=mcp__x__ask", id),
		"no prompts":  with(claude.Options{PermissionPrompts: claude.PermissionPromptsNone}, empty, "--permission-prompts=none", id),
		"dialogs":     says(claude.Options{OnUserDialog: dialog, DialogKinds: []string{"color", "size"}}, `{"supportedDialogKinds":["color","size"]}`),
		"preview":     {opts: claude.Options{QuestionPreview: claude.QuestionPreviewHTML}, args: []string{empty, id}, env: []string{"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=html"}, init: said},
		"hooks": says(claude.Options{Hooks: []hook.Hook{hook.PreToolUse("Bash|Write", pre).WithTimeout(10 * time.Second), hook.PreToolUse("", pre).FailOpen(), hook.PreToolUse("", pre).FailClosed(), noHook()}},
			`{"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"],"matcher":"Bash|Write","timeout":525,"onFailure":"block"},{"hookCallbackIds":["hook_chain"],"matcher":null,"timeout":525,"onFailure":"block"}],"Stop":[{"hookCallbackIds":["hook_3"],"matcher":null}]}}`),
		"one hook before tools": says(claude.Options{Hooks: []hook.Hook{noHook(), hook.PreToolUse("Bash|Write", pre).WithTimeout(10 * time.Second)}},
			`{"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_1"],"matcher":"Bash|Write","timeout":15,"onFailure":"block"}],"Stop":[{"hookCallbackIds":["hook_0"],"matcher":null}]}}`),
		"closed hooks": says(claude.Options{HookFailure: hook.FailClosed, Hooks: []hook.Hook{noHook()}}, `{"hooks":{"Stop":[{"hookCallbackIds":["hook_0"],"matcher":null,"onFailure":"block"}]}}`),

		"agents": says(claude.Options{Agents: map[string]claude.AgentDefinition{"a": {Description: "d", Prompt: "p", Tools: []string{"Read"}, Effort: claude.EffortHigh}}},
			`{"agents":{"a":{"description":"d","prompt":"p","tools":["Read"],"effort":"high"}}}`),
		"agent":         with(claude.Options{Agent: "reviewer"}, empty, "--agent=reviewer", id),
		"subagent text": says(claude.Options{ForwardSubagentText: true}, `{"forwardSubagentText":true}`),
		"summaries":     says(claude.Options{AgentProgressSummaries: true}, `{"agentProgressSummaries":true}`),
		"task stop":     says(claude.Options{PerTaskStop: true}, `{"perTaskStopAffordance":true}`),
		"suggestions":   says(claude.Options{PromptSuggestions: true}, `{"promptSuggestions":true}`),
		"all skills":    with(claude.Options{AllSkills: true, AllowedTools: []string{"Read"}}, empty, "--allowedTools=Read,Skill", id),
		"two skills": {opts: claude.Options{Skills: []string{"pdf", "box:doc"}, AllowedTools: []string{"Skill(pdf)"}}, args: []string{empty, "--allowedTools=Skill(pdf),Skill(box:doc)", id},
			init: `{"systemPrompt":"","skills":["pdf","box:doc"]}`},
		"no skills": says(claude.Options{Skills: []string{}}, `{"skills":[]}`),
		"plugins":   with(claude.Options{Plugins: []control.PluginConfig{{Path: "/p"}, {Type: "local", Path: "/q", SkipMCPDiscovery: true}}}, empty, "--plugin-dir=/p", "--plugin-dir-no-mcp=/q", id),

		"servers": {opts: claude.Options{MCPServers: claude.MCPServers{"clock": harness.Clock(), "files": claude.StdioServer{Command: "serve"}}, StrictMCPConfig: true}, args: []string{empty, "--strict-mcp-config", id},
			init: `{"systemPrompt":"","sdkMcpServers":["clock"]}`, servers: `{"mcpServers":{"files":{"type":"stdio","command":"serve"}}}`},

		"session id":  with(claude.Options{SessionID: "00000000-0000-4000-8000-000000000002"}, empty, "--session-id=00000000-0000-4000-8000-000000000002"),
		"resume":      with(claude.Options{Resume: "00000000-0000-4000-8000-000000000002", ResumeAt: "-m", ForkSession: true, NoPersistence: true}, empty, "--resume=00000000-0000-4000-8000-000000000002", "--resume-session-at=-m", "--fork-session", "--no-session-persistence"),
		"drop a turn": with(claude.Options{Resume: "00000000-0000-4000-8000-000000000002", ResumeAt: "m", ResumeDropsTurn: "u"}, empty, "--resume=00000000-0000-4000-8000-000000000002", "--resume-session-at=m", "--resume-drops-turn=u"),
		"continue":    with(claude.Options{Continue: true}, empty, "--continue"),
		"resume with servers": {opts: claude.Options{Continue: true, MCPServers: claude.MCPServers{"clock": harness.Clock(), "files": claude.StdioServer{Command: "serve"}}}, args: []string{empty, "--continue"},
			init: `{"systemPrompt":"","sdkMcpServers":["clock"]}`, servers: `{"mcpServers":{"clock":{"type":"sdk","name":"clock"},"files":{"type":"stdio","command":"serve"}}}`},
		"title":       says(claude.Options{Title: "t"}, `{"title":"t"}`),
		"retries":     {opts: claude.Options{MaxRetries: 3, Timeouts: claude.Timeouts{API: 90 * time.Second}}, args: []string{empty, id}, env: []string{"CLAUDE_CODE_MAX_RETRIES=3", "API_TIMEOUT_MS=90000"}, init: said},
		"no retries":  {opts: claude.Options{MaxRetries: claude.NoRetries, Timeouts: claude.Timeouts{API: time.Microsecond}}, args: []string{empty, id}, env: []string{"CLAUDE_CODE_MAX_RETRIES=0", "API_TIMEOUT_MS=1"}, init: said},
		"checkpoints": {opts: claude.Options{FileCheckpointing: true}, args: []string{empty, id}, env: []string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true"}, init: said},

		"isolation":   with(claude.Options{SettingSources: []claude.SettingSource{}}, empty, id, "--setting-sources", ""),
		"sources":     with(claude.Options{SettingSources: []claude.SettingSource{claude.SettingSourceUser, claude.SettingSourceLocal}, AddDirs: []string{"/a", "/b"}}, empty, id, "--setting-sources", "user,local", "--add-dir=/a", "--add-dir=/b"),
		"settings":    {opts: claude.Options{Settings: m{"env": m{"TOKEN": "secret"}}}, args: []string{empty, id}, init: said, settings: `{"env":{"TOKEN":"secret"}}`},
		"own file":    with(claude.Options{SettingsFile: "/s.json"}, empty, id, "--settings", "/s.json"),
		"odd file":    with(claude.Options{SettingsFile: "-s.json"}, empty, id, "--settings=-s.json"),
		"managed":     {opts: claude.Options{ManagedSettings: m{"a": 1}}, args: []string{empty, id, "--await-initialize", "--managed-settings-in-initialize"}, init: `{"systemPrompt":"","managedSettings":{"a":1}}`},
		"config root": with(claude.Options{ProjectConfigRoot: "/repo"}, empty, id, "--project-config-root=/repo"),
		"sandbox": {opts: claude.Options{Sandbox: &claude.Sandbox{
			Enabled: true, FailIfUnavailable: new(false), AutoAllowBash: new(false), AllowUnsandboxed: new(false), ExcludedCommands: []string{"git"}, Nested: true, Extra: m{"ripgrep": m{"command": "rg"}, "enabled": false},
			Network: claude.SandboxNetwork{AllowedDomains: []string{"good"}, DeniedDomains: []string{"bad"}, StrictAllowlist: true, AllowUnixSockets: []string{"/s"}, AllowAllUnixSockets: true,
				AllowLocalBinding: true, HTTPProxyPort: 1, SOCKSProxyPort: 2},
			Filesystem: claude.SandboxFilesystem{AllowWrite: []string{"/a"}, DenyWrite: []string{"/b"}, DenyRead: []string{"/c"}, AllowRead: []string{"/d"}},
		}}, args: []string{empty, id}, init: said, settings: `{"sandbox":{"enabled":true,"failIfUnavailable":false,"autoAllowBashIfSandboxed":false,"allowUnsandboxedCommands":false,
			"excludedCommands":["git"],"enableWeakerNestedSandbox":true,"ripgrep":{"command":"rg"},
			"network":{"allowedDomains":["good"],"deniedDomains":["bad"],"strictAllowlist":true,"allowUnixSockets":["/s"],"allowAllUnixSockets":true,"allowLocalBinding":true,"httpProxyPort":1,"socksProxyPort":2},
			"filesystem":{"allowWrite":["/a"],"denyWrite":["/b"],"denyRead":["/c"],"allowRead":["/d"]}}}`},

		"bounds":   with(claude.Options{MaxTurns: 3, MaxBudgetUSD: 0.25, TaskBudget: 5000}, empty, id, "--max-turns=3", "--max-budget-usd=0.25", "--task-budget=5000"),
		"messages": with(claude.Options{PartialMessages: true, ReplayUserMessages: true, HookEvents: true}, empty, id, "--include-partial-messages", "--replay-user-messages", "--include-hook-events"),

		"process":    {opts: claude.Options{CLIPath: "/bin/cli", Cwd: "/repo", Env: []string{"B=2"}, Stderr: func(string) {}}, args: []string{empty, id}, env: []string{"PWD=/repo"}, init: said},
		"extra":      with(claude.Options{ExtraArgs: []string{"--new=1"}}, empty, id, "--new=1"),
		"debug":      with(claude.Options{Debug: true}, empty, id, "--debug"),
		"debug file": with(claude.Options{Debug: true, DebugFile: "/d.log"}, empty, id, "--debug-file=/d.log"),
	}
}
