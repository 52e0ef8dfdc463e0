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
	// PromptID is the CLI's own id of the prompt that the event belongs to, if
	// any: prompt.id in the events it exports. It is not the id that Send
	// returned, and prompts that one turn answers share it. It is empty for a
	// deferred call that is made again.
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
	// Raw is the whole input as the CLI sent it.
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

// DecodeInput decodes the tool's input into v by the rules of encoding/json,
// but with exact names: you must decide about the same input that the tool
// reads. An input is an error if its names differ only in case from each other
// or from the names of v's fields, or if a name occurs twice. Name the fields
// with json tags.
func (t *ToolBase) DecodeInput(v any) error {
	if err := jsonx.UnmarshalExact(t.ToolInput, v); err != nil {
		return fmt.Errorf("hook: input of %s: %w", t.ToolName, err)
	}
	return nil
}

// BatchCall is a finished tool call, and what the model sees of it.
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

// SessionCron is a prompt that the session will send to itself.
type SessionCron struct {
	ID        string `json:"id"`
	Schedule  string `json:"schedule"`
	Recurring bool   `json:"recurring"`
	Prompt    string `json:"prompt"`
}
