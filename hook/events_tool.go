package hook

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
)

// PreToolUse is called before a tool runs; the matcher is for tool names. It
// can deny the call ([DenyTool]), allow it, make the CLI ask, and change its
// input.
func PreToolUse(matcher string, fn func(ctx context.Context, in *PreToolUseInput) (*PreToolUseOutput, error)) Hook {
	return answer(EventPreToolUse, matcher, fn)
}

// PreToolUseInput is the input of [PreToolUse].
type PreToolUseInput struct {
	Base
	ToolBase
}

// Request returns the call as a permission function is asked about it, so that rules
// and policies can be used in a hook. It holds what a hook receives: the tool, its
// input, the ids and the working directory, but no suggestions.
func (in *PreToolUseInput) Request() *permission.Request {
	return &permission.Request{
		ToolName:  in.ToolName,
		Input:     in.ToolInput,
		ToolUseID: in.ToolUseID,
		AgentID:   in.AgentID,
		MCPServer: in.MCPServer,
		Cwd:       in.Cwd,
		Raw:       in.Raw,
	}
}

// PostToolUse is called after a tool has run; the matcher is for tool names.
// Blocking gives the model feedback.
func PostToolUse(matcher string, fn func(ctx context.Context, in *PostToolUseInput) (*PostToolUseOutput, error)) Hook {
	return answer(EventPostToolUse, matcher, fn)
}

// PostToolUseInput is the input of [PostToolUse].
type PostToolUseInput struct {
	Base
	ToolBase
	// ToolResponse is the tool's own result; its shape depends on the tool.
	ToolResponse json.RawMessage `json:"tool_response"`
	DurationMS   float64         `json:"duration_ms,omitzero"`
}

// PostToolUseFailure is called after a tool has failed; the matcher is for
// tool names.
func PostToolUseFailure(matcher string, fn func(ctx context.Context, in *PostToolUseFailureInput) (*ContextOutput, error)) Hook {
	return answer(EventPostToolUseFailure, matcher, fn)
}

// PostToolUseFailureInput is the input of [PostToolUseFailure].
type PostToolUseFailureInput struct {
	Base
	ToolBase
	// Error describes what went wrong.
	Error string `json:"error"`
	// IsInterrupt reports that the user stopped the tool.
	IsInterrupt bool    `json:"is_interrupt,omitzero"`
	DurationMS  float64 `json:"duration_ms,omitzero"`
}

// PostToolBatch is called after all tools of one answer have run. Blocking
// ends the turn; the model reads the reason in the next one.
func PostToolBatch(fn func(ctx context.Context, in *PostToolBatchInput) (*ContextOutput, error)) Hook {
	return answer(EventPostToolBatch, "", fn)
}

// PostToolBatchInput is the input of [PostToolBatch].
type PostToolBatchInput struct {
	Base
	ToolCalls []BatchCall `json:"tool_calls"`
}

// PermissionRequest is called when the CLI asks for permission, together with
// the session's own permission callback: the first answer counts, and the
// context of the other one ends. The matcher is for tool names.
func PermissionRequest(matcher string, fn func(ctx context.Context, in *PermissionRequestInput) (*PermissionRequestOutput, error)) Hook {
	return answer(EventPermissionRequest, matcher, fn)
}

// PermissionRequestInput is the input of [PermissionRequest].
type PermissionRequestInput struct {
	Base
	ToolBase
	// Suggestions are the updates that would make the question unnecessary
	// next time.
	Suggestions []permission.Update `json:"permission_suggestions,omitzero"`
}

// The CLI names the tool use beside this input and not inside it.
func (in *PermissionRequestInput) received(raw json.RawMessage, toolUseID string) {
	in.Raw, in.ToolUseID = raw, toolUseID
}

// PermissionDenied is called after auto mode has denied a tool call; the
// matcher is for tool names.
func PermissionDenied(matcher string, fn func(ctx context.Context, in *PermissionDeniedInput) (*PermissionDeniedOutput, error)) Hook {
	return answer(EventPermissionDenied, matcher, fn)
}

// PermissionDeniedInput is the input of [PermissionDenied].
type PermissionDeniedInput struct {
	Base
	ToolBase
	// Reason is why the call was denied.
	Reason string `json:"reason"`
}

// Elicitation is called when an MCP server asks the user something; the
// matcher is for server names. It can decline, and then the session's
// elicitation callback is not called.
func Elicitation(matcher string, fn func(ctx context.Context, in *ElicitationInput) (*ElicitationOutput, error)) Hook {
	return answer(EventElicitation, matcher, fn)
}

// ElicitationInput is the input of [Elicitation].
type ElicitationInput struct {
	Base
	MCPServerName string `json:"mcp_server_name"`
	Message       string `json:"message"`
	// Mode distinguishes a form from an address.
	Mode            control.ElicitationMode `json:"mode,omitzero"`
	URL             string                  `json:"url,omitzero"`
	ElicitationID   string                  `json:"elicitation_id,omitzero"`
	RequestedSchema json.RawMessage         `json:"requested_schema,omitzero"`
}

// ElicitationResult is called when the user has answered an MCP server; the
// matcher is for server names. It can turn the answer into a refusal.
func ElicitationResult(matcher string, fn func(ctx context.Context, in *ElicitationResultInput) (*ElicitationOutput, error)) Hook {
	return answer(EventElicitationResult, matcher, fn)
}

// ElicitationResultInput is the input of [ElicitationResult].
type ElicitationResultInput struct {
	Base
	MCPServerName string                  `json:"mcp_server_name"`
	ElicitationID string                  `json:"elicitation_id,omitzero"`
	Mode          control.ElicitationMode `json:"mode,omitzero"`
	// Action is the user's answer.
	Action  control.ElicitationAction `json:"action"`
	Content json.RawMessage           `json:"content,omitzero"`
}
