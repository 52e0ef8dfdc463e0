package hook

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/permission"
)

// PreToolUseInput is the input of [PreToolUse].
type PreToolUseInput struct {
	Base
	Tool
}

// PostToolUseInput is the input of [PostToolUse].
type PostToolUseInput struct {
	Base
	Tool
	// ToolResponse is the tool's own result, of a shape that depends on the
	// tool.
	ToolResponse json.RawMessage `json:"tool_response"`
	DurationMS   float64         `json:"duration_ms,omitzero"`
}

// PostToolUseFailureInput is the input of [PostToolUseFailure].
type PostToolUseFailureInput struct {
	Base
	Tool
	// Error says what went wrong.
	Error string `json:"error"`
	// IsInterrupt says that the user stopped the tool.
	IsInterrupt bool    `json:"is_interrupt,omitzero"`
	DurationMS  float64 `json:"duration_ms,omitzero"`
}

// PostToolBatchInput is the input of [PostToolBatch].
type PostToolBatchInput struct {
	Base
	ToolCalls []ToolCall `json:"tool_calls"`
}

// PermissionRequestInput is the input of [PermissionRequest].
type PermissionRequestInput struct {
	Base
	Tool
	// Suggestions are the updates that would make the question unnecessary
	// next time.
	Suggestions []permission.Update `json:"permission_suggestions,omitzero"`
}

// The CLI names the tool use beside this input and not inside it.
func (in *PermissionRequestInput) received(raw json.RawMessage, toolUseID string) {
	in.Raw, in.ToolUseID = raw, toolUseID
}

// PermissionDeniedInput is the input of [PermissionDenied].
type PermissionDeniedInput struct {
	Base
	Tool
	// Reason says why the call was denied.
	Reason string `json:"reason"`
}

// ElicitationInput is the input of [Elicitation].
type ElicitationInput struct {
	Base
	MCPServerName string `json:"mcp_server_name"`
	Message       string `json:"message"`
	// Mode is "form" or "url".
	Mode            string          `json:"mode,omitzero"`
	URL             string          `json:"url,omitzero"`
	ElicitationID   string          `json:"elicitation_id,omitzero"`
	RequestedSchema json.RawMessage `json:"requested_schema,omitzero"`
}

// ElicitationResultInput is the input of [ElicitationResult].
type ElicitationResultInput struct {
	Base
	MCPServerName string `json:"mcp_server_name"`
	ElicitationID string `json:"elicitation_id,omitzero"`
	Mode          string `json:"mode,omitzero"`
	// Action is "accept", "decline" or "cancel".
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitzero"`
}
