package message

import "github.com/claude-agent-go/claude/internal/jsonx"

// ToolProgress reports that a tool, or a hook around it, is still running.
type ToolProgress struct {
	Header

	// ToolUseID is the tool call. For a heartbeat it is a separate id, and
	// ParentToolUseID is the call.
	ToolUseID       string  `json:"tool_use_id"`
	ToolName        string  `json:"tool_name"`
	ParentToolUseID string  `json:"parent_tool_use_id"`
	ElapsedSeconds  float64 `json:"elapsed_time_seconds"`
	TaskID          string  `json:"task_id,omitzero"`
	// Heartbeat reports that only the time has changed.
	Heartbeat    bool   `json:"heartbeat,omitzero"`
	SubagentType string `json:"subagent_type,omitzero"`
}

func (m *ToolProgress) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ToolProgress) MarshalJSON() ([]byte, error) {
	type plain ToolProgress
	w := struct {
		plain
		Parent *string `json:"parent_tool_use_id"`
	}{plain(m), orNull(m.ParentToolUseID)}
	return encode(&w.Header, "tool_progress", "", &w)
}

// ToolUseSummary sums up the tool calls before it.
type ToolUseSummary struct {
	Header

	Summary    string   `json:"summary"`
	ToolUseIDs []string `json:"preceding_tool_use_ids"`
}

func (m *ToolUseSummary) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ToolUseSummary) MarshalJSON() ([]byte, error) {
	type plain ToolUseSummary
	return encode(&m.Header, "tool_use_summary", "", (*plain)(&m))
}

// PermissionDenied reports that a tool call was denied without asking.
type PermissionDenied struct {
	Header

	ToolName           string `json:"tool_name"`
	ToolUseID          string `json:"tool_use_id"`
	AgentID            string `json:"agent_id,omitzero"`
	DecisionReasonType string `json:"decision_reason_type,omitzero"`
	DecisionReason     string `json:"decision_reason,omitzero"`
	// Message is the text for the model.
	Message string `json:"message"`
}

func (m *PermissionDenied) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m PermissionDenied) MarshalJSON() ([]byte, error) {
	type plain PermissionDenied
	return encode(&m.Header, typeSystem, "permission_denied", (*plain)(&m))
}

// ElicitationComplete reports that an MCP server has received the answer it
// asked for outside the conversation.
type ElicitationComplete struct {
	Header

	MCPServerName string `json:"mcp_server_name"`
	ElicitationID string `json:"elicitation_id"`
}

func (m *ElicitationComplete) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ElicitationComplete) MarshalJSON() ([]byte, error) {
	type plain ElicitationComplete
	return encode(&m.Header, typeSystem, "elicitation_complete", (*plain)(&m))
}

// HookEvent reports on a hook from the CLI's settings. Subtype is the moment:
// [HookStarted], [HookProgress] or [HookResponse]. An empty Subtype is encoded
// as [HookResponse].
type HookEvent struct {
	Header

	HookID string `json:"hook_id"`
	Name   string `json:"hook_name"`
	// Event is the hook event, such as "PreToolUse".
	Event  string `json:"hook_event"`
	Stdout string `json:"stdout,omitzero"`
	Stderr string `json:"stderr,omitzero"`
	Output string `json:"output,omitzero"`
	// ExitCode and Outcome are set for a [HookResponse]. ExitCode is nil if the
	// hook was not a process or did not exit by itself.
	ExitCode *int   `json:"exit_code,omitzero"`
	Outcome  string `json:"outcome,omitzero"`
}

// The subtypes of a [HookEvent].
const (
	HookStarted  = "hook_started"
	HookProgress = "hook_progress"
	HookResponse = "hook_response"
)

func (m *HookEvent) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m HookEvent) MarshalJSON() ([]byte, error) {
	type plain HookEvent
	return encode(&m.Header, typeSystem, HookResponse, (*plain)(&m))
}
