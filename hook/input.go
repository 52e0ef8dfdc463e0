package hook

import (
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Base is the part that all inputs share.
type Base struct {
	SessionID string `json:"session_id"`
	// TranscriptPath is the file in which the CLI keeps the conversation.
	TranscriptPath string `json:"transcript_path"`
	Cwd            string `json:"cwd"`
	// PromptID is the prompt the event belongs to, if any.
	PromptID       string          `json:"prompt_id,omitzero"`
	PermissionMode permission.Mode `json:"permission_mode,omitzero"`
	// AgentID and AgentType are the subagent the event belongs to; both are
	// empty on the main thread.
	AgentID   string `json:"agent_id,omitzero"`
	AgentType string `json:"agent_type,omitzero"`
	// Effort is how hard the model thinks, where that applies.
	Effort EffortLevel `json:"effort,omitzero"`
	// HookEventName is the event.
	HookEventName Event `json:"hook_event_name"`
	// Raw is the whole input as it came.
	Raw json.RawMessage `json:"-"`
}

func (b *Base) received(raw json.RawMessage, _ string) { b.Raw = raw }

// EffortLevel is how hard the model works, for example Level "medium".
type EffortLevel struct {
	Level control.Effort `json:"level"`
}

// ToolBase is the tool call that an event is about.
type ToolBase struct {
	ToolName string `json:"tool_name"`
	// ToolInput is JSON of a shape that depends on the tool.
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id,omitzero"`
	// MCPServer is the server behind an MCP tool, otherwise nil.
	MCPServer *permission.ToolServer `json:"mcp_server,omitzero"`
}

// DecodeInput decodes the tool's input into v by the rules of encoding/json, but
// by exact names: what you decide about must be what the tool reads. So an input
// whose names differ from each other, or from those of v's fields, only in case
// is an error, and so is a name that occurs twice. Give fields their names by
// json tags.
func (t *ToolBase) DecodeInput(v any) error {
	if err := jsonx.UnmarshalExact(t.ToolInput, v); err != nil {
		return fmt.Errorf("hook: input of %s: %w", t.ToolName, err)
	}
	return nil
}

// BatchCall is a tool call that is over, and what the model gets to see of it.
type BatchCall struct {
	ToolBase
	ToolResponse json.RawMessage `json:"tool_response,omitzero"`
}

// BackgroundTaskSummary is a task that runs beside the conversation.
type BackgroundTaskSummary struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Command     string `json:"command,omitzero"`
	AgentType   string `json:"agent_type,omitzero"`
	Server      string `json:"server,omitzero"`
	Tool        string `json:"tool,omitzero"`
	Name        string `json:"name,omitzero"`
}

// SessionCron is a prompt that the session will send itself.
type SessionCron struct {
	ID        string `json:"id"`
	Schedule  string `json:"schedule"`
	Recurring bool   `json:"recurring"`
	Prompt    string `json:"prompt"`
}
