package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Func decides one tool call. It may be called several times at once. Its
// context ends when the CLI withdraws the question, at the timeout and when
// the session closes; a decision returned after that is dropped. An error
// denies the call and tells the model that the check failed.
type Func func(ctx context.Context, req *Request) (Decision, error)

// Request is one question from the CLI: may this tool run with this input? It
// encodes as its fields, without the request subtype; Raw has everything the
// CLI sent.
type Request struct {
	// RequestID is the id of the control request. The session sets it.
	RequestID string `json:"-"`
	// ToolName is the tool's name; MCP tools are named mcp__server__tool.
	ToolName string `json:"tool_name"`
	// Input is the tool's input exactly as the CLI wrote it.
	Input json.RawMessage `json:"input"`
	// ToolUseID is the id of the tool_use block that asks.
	ToolUseID string `json:"tool_use_id,omitzero"`
	// Suggestions are the updates that would make this question unnecessary
	// next time.
	Suggestions []Update `json:"permission_suggestions,omitzero"`
	// BlockedPath is the path that caused the question, if one did.
	BlockedPath string `json:"blocked_path,omitzero"`
	// Reason is why the CLI asks, in words.
	Reason string `json:"decision_reason,omitzero"`
	// ReasonType is the kind of the reason, for example "rule", "mode",
	// "hook", "workingDir" or "safetyCheck".
	ReasonType string `json:"decision_reason_type,omitzero"`
	// ReasonHookEvent and ReasonHookSource are, for a ReasonType of "hook", the
	// event at which the hook asked and where it is registered.
	ReasonHookEvent  string `json:"decision_reason_hook_event,omitzero"`
	ReasonHookSource string `json:"decision_reason_hook_source,omitzero"`
	// Title is a whole sentence for a prompt, if the CLI has one.
	Title string `json:"title,omitzero"`
	// DisplayName is the tool's name for people.
	DisplayName string `json:"display_name,omitzero"`
	// Description describes this call to people.
	Description string `json:"description,omitzero"`
	// AgentID is the subagent that asks; empty on the main thread.
	AgentID string `json:"agent_id,omitzero"`
	// MCPServer is the server behind an MCP tool, otherwise nil.
	MCPServer *ToolServer `json:"mcp_server,omitzero"`
	// RequiresUserInteraction reports that a person must answer, because the
	// tool itself is a question (AskUserQuestion, ExitPlanMode).
	RequiresUserInteraction bool `json:"requires_user_interaction,omitzero"`
	// SuppressAlwaysAllow asks a prompt not to offer "always allow".
	SuppressAlwaysAllow bool `json:"suppress_always_allow_rule,omitzero"`
	// DefaultToNo asks a prompt to preselect "no".
	DefaultToNo bool `json:"default_to_no,omitzero"`
	// ClassifierApprovable reports that in auto mode a classifier may approve
	// this call instead of a person.
	ClassifierApprovable bool `json:"classifier_approvable,omitzero"`
	// ServerPolicyAskOnly reports that the policy of the tool's server allows
	// this call only after asking, and never permanently.
	ServerPolicyAskOnly bool `json:"server_policy_ask_only,omitzero"`
	// MatchedAskRule is the "ask" rule that led to the question, otherwise nil.
	MatchedAskRule *MatchedRule `json:"matched_ask_rule,omitzero"`
	// Cwd is the working directory of the CLI, if known: a hook names it, a
	// permission request does not.
	Cwd string `json:"-"`
	// Raw is the whole request as the CLI sent it.
	Raw json.RawMessage `json:"-"`
}

// ToolServer names the MCP server behind a tool, and the origin of its
// configuration.
type ToolServer struct {
	Name   string `json:"name"`
	Source string `json:"source,omitzero"`
}

// MatchedRule is a permission rule that applied, and the settings source it
// comes from.
type MatchedRule struct {
	Source      string `json:"source,omitzero"`
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content,omitzero"`
}

// UnmarshalJSON decodes a can_use_tool request. Fields of an unexpected kind
// stay zero. A request that could be read in two ways is an error: one in
// which an object, at any level and even inside the input, has a name twice or
// names that differ only in case.
func (r *Request) UnmarshalJSON(data []byte) error {
	raw := append(json.RawMessage(nil), data...)
	if err := jsonx.BodyNames().Check(raw); err != nil && !errors.Is(err, jsonx.ErrNotObject) {
		return err
	}
	if err := jsonx.Unambiguous(raw); err != nil {
		return err
	}
	type fields Request
	f := fields{RequestID: r.RequestID, Cwd: r.Cwd}
	if err := jsonx.Unmarshal(raw, &f); err != nil && !jsonx.Mismatch(err) {
		return err
	}
	// A value of another kind leaves a pointer to nothing behind.
	if f.MCPServer != nil && *f.MCPServer == (ToolServer{}) {
		f.MCPServer = nil
	}
	if f.MatchedAskRule != nil && *f.MatchedAskRule == (MatchedRule{}) {
		f.MatchedAskRule = nil
	}
	f.Raw = raw
	*r = Request(f)
	return nil
}

// DecodeInput decodes the tool's input into v by the rules of encoding/json,
// but with exact names: you must decide about the same input that the tool
// reads. An input is an error if its names differ only in case from each other
// or from the names of v's fields, or if a name occurs twice. Name the fields
// with json tags.
func (r *Request) DecodeInput(v any) error {
	if len(r.Input) == 0 {
		return errors.New("permission: the request has no input")
	}
	if err := jsonx.UnmarshalExact(r.Input, v); err != nil {
		return fmt.Errorf("permission: input of %s: %w", r.ToolName, err)
	}
	return nil
}
