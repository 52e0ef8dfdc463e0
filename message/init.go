package message

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Init starts a turn and describes the session. It comes with every turn, not
// once per process, and only after a user message.
type Init struct {
	Header

	// Version is the version of the CLI.
	Version        string          `json:"claude_code_version,omitzero"`
	Cwd            string          `json:"cwd"`
	Model          string          `json:"model"`
	PermissionMode permission.Mode `json:"permissionMode,omitzero"`
	// APIKeySource is the origin of the credentials.
	APIKeySource string `json:"apiKeySource,omitzero"`

	// Tools are the names of the tools that the model may call.
	Tools      []string        `json:"tools"`
	MCPServers []InitMCPServer `json:"mcp_servers"`
	// SlashCommands are the commands that a prompt may start with.
	SlashCommands []string `json:"slash_commands,omitzero"`
	// TerminalSlashCommands are the commands that work only in a terminal.
	TerminalSlashCommands []string         `json:"terminal_slash_commands,omitzero"`
	Agents                []string         `json:"agents,omitzero"`
	Skills                []string         `json:"skills,omitzero"`
	Plugins               []control.Plugin `json:"plugins,omitzero"`
	PluginErrors          json.RawMessage  `json:"plugin_errors,omitzero"`
	Betas                 []string         `json:"betas,omitzero"`
	// Capabilities name protocol features that a host may rely on.
	Capabilities []string `json:"capabilities,omitzero"`

	OutputStyle            string         `json:"output_style,omitzero"`
	Effort                 control.Effort `json:"effort,omitzero"`
	ViewMode               string         `json:"view_mode,omitzero"`
	FastModeState          string         `json:"fast_mode_state,omitzero"`
	FastModeDisabledReason string         `json:"fast_mode_disabled_reason,omitzero"`

	// OriginalCwd is where the CLI was started; Cwd may have changed since.
	OriginalCwd           string   `json:"original_cwd,omitzero"`
	AdditionalDirectories []string `json:"additional_directories,omitzero"`

	// MemoryPaths are the folders of the CLI's memory, by their kind.
	MemoryPaths map[string]string `json:"memory_paths,omitzero"`
	// MessagingSocketPath is the socket that sessions of the same user use to
	// reach each other.
	MessagingSocketPath string `json:"messaging_socket_path,omitzero"`

	AnalyticsDisabled       bool `json:"analytics_disabled,omitzero"`
	ProductFeedbackDisabled bool `json:"product_feedback_disabled,omitzero"`
	// PerTurnEffortActive reports that the effort may change from turn to turn.
	PerTurnEffortActive   bool `json:"per_turn_effort_active,omitzero"`
	UltrathinkAvailable   bool `json:"ultrathink_available,omitzero"`
	UltrathinkTypedRaises bool `json:"ultrathink_typed_raises,omitzero"`

	// Prompts are the ids of the user messages that the turn answers.
	Prompts []string `json:"user_message_uuids,omitzero"`
}

// InitMCPServer is an MCP server as an [Init] lists it.
type InitMCPServer struct {
	Name string `json:"name"`
	// Status is control.MCPConnected, control.MCPPending and so on.
	Status control.MCPState `json:"status"`
	Source string           `json:"source,omitzero"`
}

func (m *Init) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Init) MarshalJSON() ([]byte, error) {
	type plain Init
	return encode(&m.Header, typeSystem, "init", (*plain)(&m))
}
