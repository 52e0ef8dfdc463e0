package control

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Initialize is the request that opens a session, without its subtype. Zero
// fields are not sent, and the CLI then uses its defaults.
type Initialize struct {
	// Hooks registers callbacks by the name of the event.
	Hooks map[string][]HookMatcher `json:"hooks,omitzero"`
	// SDKMCPServers names the in-process MCP servers.
	SDKMCPServers []string `json:"sdkMcpServers,omitzero"`
	// SDKMCPServerConfigs has settings for some of them.
	SDKMCPServerConfigs map[string]SDKMCPServerConfig `json:"sdkMcpServerConfigs,omitzero"`
	// SDKMCPServerManifests has the handshakes of some of them, made ahead to
	// save round trips.
	SDKMCPServerManifests map[string]SDKMCPServerManifest `json:"sdkMcpServerManifests,omitzero"`
	// SDKMCPServerManifestsOrigin describes how the manifests were made.
	SDKMCPServerManifestsOrigin string `json:"sdkMcpServerManifestsOrigin,omitzero"`
	// JSONSchema is the schema of a structured result.
	JSONSchema json.RawMessage `json:"jsonSchema,omitzero"`
	// SystemPrompt replaces the CLI's own prompt; nil keeps it. A single empty
	// string is an empty prompt.
	SystemPrompt []string `json:"systemPrompt,omitzero"`
	// AppendSystemPrompt is added to the system prompt.
	AppendSystemPrompt string `json:"appendSystemPrompt,omitzero"`
	// AppendSubagentSystemPrompt is added to the prompts of subagents.
	AppendSubagentSystemPrompt string `json:"appendSubagentSystemPrompt,omitzero"`
	// SystemPromptSnapshot is passed on unchanged.
	SystemPromptSnapshot json.RawMessage `json:"systemPromptSnapshot,omitzero"`
	// ExcludeDynamicSections leaves out the parts of the CLI's own prompt that
	// change from day to day, so that it can be cached.
	ExcludeDynamicSections bool `json:"excludeDynamicSections,omitzero"`
	// PlanModeInstructions replaces the instructions of plan mode.
	PlanModeInstructions string `json:"planModeInstructions,omitzero"`
	// ToolAliases gives tools other names.
	ToolAliases map[string]string `json:"toolAliases,omitzero"`
	// Agents defines agents by name.
	Agents map[string]AgentDefinition `json:"agents,omitzero"`
	// Title is the session's title.
	Title string `json:"title,omitzero"`
	// Skills limits the skills to these; nil means all, an empty list none.
	Skills []string `json:"skills,omitzero"`
	// Plugins are loaded before the first turn.
	Plugins []PluginConfig `json:"plugins,omitzero"`
	// PromptSuggestions asks for a suggestion of the next prompt after each
	// turn.
	PromptSuggestions bool `json:"promptSuggestions,omitzero"`
	// AgentProgressSummaries asks for summaries of the subagents' work.
	AgentProgressSummaries bool `json:"agentProgressSummaries,omitzero"`
	// ForwardSubagentText asks for the text of subagents.
	ForwardSubagentText bool `json:"forwardSubagentText,omitzero"`
	// SupportedDialogKinds are the kinds of [Dialog] that can be shown.
	SupportedDialogKinds []string `json:"supportedDialogKinds,omitzero"`
	// PerTaskStopAffordance announces that background tasks can be stopped one
	// by one.
	PerTaskStopAffordance bool `json:"perTaskStopAffordance,omitzero"`
	// ManagedSettings are settings of the administrator.
	ManagedSettings json.RawMessage `json:"managedSettings,omitzero"`
	// Raw is the whole request as received, on the receiving side.
	Raw json.RawMessage `json:"-"`
}

// HookMatcher registers callbacks for the events that fit a matcher.
type HookMatcher struct {
	// Matcher is always sent; nil fits every event.
	Matcher *string `json:"matcher"`
	// CallbackIDs are the names the CLI uses to call the callbacks.
	CallbackIDs []string `json:"hookCallbackIds"`
	// Timeout is in seconds. Zero is not sent; the CLI then waits very long.
	Timeout float64 `json:"timeout,omitzero"`
	// OnFailure is "block" or "continue".
	OnFailure string `json:"onFailure,omitzero"`
}

// SDKMCPServerConfig has settings for an in-process MCP server.
type SDKMCPServerConfig struct {
	// Timeout of a call in milliseconds; the CLI ignores less than 1000.
	Timeout int64           `json:"timeout,omitzero"`
	Tools   []MCPToolPolicy `json:"tools,omitzero"`
}

// SDKMCPServerManifest is the handshake with an MCP server, made ahead.
type SDKMCPServerManifest struct {
	InitializeResult json.RawMessage `json:"initializeResult"`
	ToolsListResult  json.RawMessage `json:"toolsListResult,omitzero"`
}

// PluginConfig names a plugin to load.
type PluginConfig struct {
	// Type is "local".
	Type string `json:"type"`
	Path string `json:"path"`
	// SkipMCPDiscovery leaves out the plugin's MCP servers.
	SkipMCPDiscovery bool `json:"skipMcpDiscovery,omitzero"`
}

// AgentDefinition defines an agent that can be started as a subagent.
type AgentDefinition struct {
	// Description tells the model when to use the agent.
	Description string `json:"description"`
	// Prompt is the agent's system prompt.
	Prompt string `json:"prompt"`
	// Tools limits the agent's tools; nil means all.
	Tools []string `json:"tools,omitzero"`
	// DisallowedTools removes tools.
	DisallowedTools []string `json:"disallowedTools,omitzero"`
	// Model is a model's name or "inherit".
	Model string `json:"model,omitzero"`
	// MCPServers are names of servers, or objects that define servers.
	MCPServers []any `json:"mcpServers,omitzero"`
	// Skills are loaded when the agent starts.
	Skills []string `json:"skills,omitzero"`
	// InitialPrompt is the agent's first message when it runs as the main
	// agent.
	InitialPrompt string `json:"initialPrompt,omitzero"`
	// MaxTurns limits the agent's turns.
	MaxTurns int `json:"maxTurns,omitzero"`
	// AutoCompactWindow is the number of tokens at which it compacts.
	AutoCompactWindow int `json:"autoCompactWindow,omitzero"`
	// Background makes the agent always run in the background.
	Background bool `json:"background,omitzero"`
	// OmitClaudeMD leaves out the project's instruction files.
	OmitClaudeMD bool `json:"omitClaudeMd,omitzero"`
	// Memory is where the agent keeps what it learns, for later sessions. Empty:
	// it keeps nothing.
	Memory MemoryScope `json:"memory,omitzero"`
	// Effort is how hard the agent works: a level such as "high", or a number
	// in digits.
	Effort Effort `json:"effort,omitzero"`
	// PermissionMode is the agent's permission mode.
	PermissionMode permission.Mode `json:"permissionMode,omitzero"`
	// CriticalSystemReminder is repeated to the agent. The CLI calls it
	// experimental.
	CriticalSystemReminder string `json:"criticalSystemReminder_EXPERIMENTAL,omitzero"`
}

// MemoryScope selects for whom an agent keeps its memory.
type MemoryScope string

// The scopes of an agent's memory.
const (
	MemoryUser    MemoryScope = "user"    // the user, in every project
	MemoryProject MemoryScope = "project" // everyone in the project
	MemoryLocal   MemoryScope = "local"   // the user, in this project
)

// MarshalJSON encodes a request. A system prompt of one piece is encoded as a
// string: older CLIs cannot read a list, and newer ones accept both.
func (v Initialize) MarshalJSON() ([]byte, error) {
	type fields Initialize
	if len(v.SystemPrompt) != 1 {
		return jsonx.Marshal(fields(v))
	}
	prompt := v.SystemPrompt[0]
	v.SystemPrompt = nil
	return jsonx.Marshal(struct {
		fields
		SystemPrompt string `json:"systemPrompt"`
	}{fields(v), prompt})
}

// UnmarshalJSON decodes a request. It also accepts older names and forms: the
// system prompt as one string, and the MCP servers as "mcp_servers".
func (v *Initialize) UnmarshalJSON(data []byte) (err error) {
	type fields Initialize
	*v = Initialize{}
	if v.Raw, err = soft(data, (*fields)(v)); err != nil {
		return err
	}
	var old struct {
		SystemPrompt any      `json:"systemPrompt"`
		Servers      []string `json:"mcp_servers"`
	}
	if _, err := soft(data, &old); err != nil {
		return err
	}
	if prompt, ok := old.SystemPrompt.(string); ok {
		v.SystemPrompt = []string{prompt}
	}
	if len(v.SDKMCPServers) == 0 {
		v.SDKMCPServers = old.Servers
	}
	return nil
}
