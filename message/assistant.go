package message

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Assistant is a message of the model. The CLI writes one line per content
// block: lines with the same ID are parts of one answer, and until the last of
// them StopReason is empty.
//
// The members of the nested "message" object on the wire are fields here.
type Assistant struct {
	Header

	// ID is the id of the API message.
	ID string `json:"-"`
	// Model is the model that spoke. It is "<synthetic>" for text that the
	// CLI wrote itself, such as an API error.
	Model        string  `json:"-"`
	Content      Content `json:"-"`
	StopReason   string  `json:"-"`
	StopSequence string  `json:"-"`
	Usage        Usage   `json:"-"`
	// StopDetails adds detail to StopReason, Container is where the API ran
	// code, ContextManagement what it removed from the context, and Diagnostics
	// what it noticed. Each is as the API wrote it, or nil.
	StopDetails       json.RawMessage `json:"-"`
	Container         json.RawMessage `json:"-"`
	ContextManagement json.RawMessage `json:"-"`
	Diagnostics       json.RawMessage `json:"-"`

	// ParentToolUseID is the call of the agent tool that this line belongs to,
	// empty for the main conversation.
	ParentToolUseID string `json:"-"`
	// Delta is a piece of an answer in the form of older CLIs, nil otherwise.
	// The current CLI sends a [StreamEvent] instead.
	Delta *Delta `json:"-"`

	// Error classifies an API error that the text reports.
	Error AssistantError `json:"error,omitzero"`
	// APIErrorStatus is the HTTP status of that error, 0 for none.
	APIErrorStatus int    `json:"api_error_status,omitzero"`
	APIErrorType   string `json:"api_error_type,omitzero"`
	// IsAPIErrorMessage reports that the text is an API error. APIError names
	// its kind if the CLI handles it specially.
	IsAPIErrorMessage bool   `json:"is_api_error_message,omitzero"`
	APIError          string `json:"api_error,omitzero"`
	RequestID         string `json:"request_id,omitzero"`
	// RefusedMessageID is the answer whose refusal this line reports.
	RefusedMessageID string `json:"refused_message_id,omitzero"`
	// Prompts are the ids of the user messages that this line answers.
	Prompts []string `json:"user_message_uuids,omitzero"`
	// Supersedes lists the ids of messages that this one replaces.
	Supersedes   []string `json:"supersedes,omitzero"`
	ResumeReason string   `json:"resume_reason,omitzero"`
	// Aborted reports that an interrupt cut the answer short.
	Aborted bool `json:"aborted,omitzero"`

	// AgentID, SubagentType and TaskDescription name the subagent that
	// spoke.
	AgentID         string `json:"agent_id,omitzero"`
	SubagentType    string `json:"subagent_type,omitzero"`
	TaskDescription string `json:"task_description,omitzero"`

	// ToolUseMeta has display names for the calls of MCP tools in this line.
	ToolUseMeta []ToolUseMeta `json:"tool_use_meta,omitzero"`
	// ThinkingDisplay is how much of the model's thinking is shown, and
	// ThinkingDurationMS how long the thinking of this line took.
	ThinkingDisplay    string  `json:"thinking_display,omitzero"`
	ThinkingDurationMS float64 `json:"thinking_duration_ms,omitzero"`

	Timestamp time.Time `json:"-"`
	// LocalCommandRun is the slash command whose output the text is, nil for
	// the model's own text. LocalCommandSource is the output as the command
	// wrote it. LocalCommandOutcome is how the command ended, if it did not
	// succeed.
	LocalCommandRun     *LocalCommandRun     `json:"local_command_run,omitzero"`
	LocalCommandSource  string               `json:"local_command_source,omitzero"`
	LocalCommandOutcome *LocalCommandOutcome `json:"local_command_outcome,omitzero"`
	// ContextUsage is the report of a /context command.
	ContextUsage json.RawMessage `json:"context_usage,omitzero"`
}

// ToolUseMeta has display names for the call of an MCP tool.
type ToolUseMeta struct {
	// ID is that of the tool call.
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	// ServerDisplayName is the name of the server, ToolName that of the tool
	// on its server.
	ServerDisplayName string `json:"server_display_name,omitzero"`
	ToolName          string `json:"tool_name,omitzero"`
	IconURL           string `json:"icon_url,omitzero"`
	ServerID          string `json:"server_id,omitzero"`
}

// LocalCommandRun is a slash command that the CLI ran without the model.
type LocalCommandRun struct {
	Command string `json:"command"`
	Args    string `json:"args"`
	Plugin  string `json:"plugin,omitzero"`
}

// LocalCommandOutcome is how a slash command that did not succeed ended.
type LocalCommandOutcome struct {
	// Kind is "failed", "unknown" and so on.
	Kind string `json:"kind"`
	// Suggestion is the command that may have been meant.
	Suggestion string `json:"suggestion,omitzero"`
}

// AssistantError classifies the API error behind an [Assistant] message.
type AssistantError string

// The classes of API errors. The set is open.
const (
	AssistantErrorAuthentication  AssistantError = "authentication_failed"
	AssistantErrorOrgNotAllowed   AssistantError = "oauth_org_not_allowed"
	AssistantErrorAccountOnHold   AssistantError = "account_on_hold"
	AssistantErrorVerification    AssistantError = "verification_required"
	AssistantErrorBilling         AssistantError = "billing_error"
	AssistantErrorRateLimit       AssistantError = "rate_limit"
	AssistantErrorOverloaded      AssistantError = "overloaded"
	AssistantErrorInvalidRequest  AssistantError = "invalid_request"
	AssistantErrorModelNotFound   AssistantError = "model_not_found"
	AssistantErrorServer          AssistantError = "server_error"
	AssistantErrorMaxOutputTokens AssistantError = "max_output_tokens"
	AssistantErrorCredential      AssistantError = "cloud_credential_error"
	AssistantErrorUnknown         AssistantError = "unknown"
)

// Text joins the text blocks.
func (m *Assistant) Text() string { return m.Content.Text() }

// Thinking joins the thinking blocks.
func (m *Assistant) Thinking() string { return m.Content.Thinking() }

// ToolUses returns the tool calls in order.
func (m *Assistant) ToolUses() []*ToolUseBlock { return m.Content.ToolUses() }

// assistantBody is the API message inside the line.
type assistantBody struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      Content `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        Usage   `json:"usage"`

	StopDetails       json.RawMessage `json:"stop_details,omitzero"`
	Container         json.RawMessage `json:"container,omitzero"`
	ContextManagement json.RawMessage `json:"context_management,omitzero"`
	Diagnostics       json.RawMessage `json:"diagnostics,omitzero"`
}

// stopAtSequence is the stop reason of an answer that ended at a sequence.
const stopAtSequence = "stop_sequence"

type assistantPlain Assistant

type assistantWire struct {
	assistantPlain
	Message   *assistantBody `json:"message,omitzero"`
	Parent    *string        `json:"parent_tool_use_id"`
	Prompt    string         `json:"user_message_uuid,omitzero"`
	Timestamp wireTime       `json:"timestamp,omitzero"`
	Delta     *deltaLine     `json:"delta,omitzero"`
}

// deltaLine is the delta of an assistant line of older peers: a stream event
// that has the delta inside, or the delta itself.
type deltaLine struct {
	Delta
	Inner *Delta `json:"delta,omitzero"`
}

func (m *Assistant) decode(raw []byte) error {
	var w assistantWire
	err := jsonx.Unmarshal(raw, &w)
	*m = Assistant(w.assistantPlain)
	m.ParentToolUseID = orEmpty(w.Parent)
	m.Prompts = prompts(m.Prompts, w.Prompt)
	m.Timestamp = w.Timestamp.Time
	if b := w.Message; b != nil {
		m.ID, m.Model, m.Content, m.Usage = b.ID, b.Model, b.Content, b.Usage
		m.StopReason, m.StopSequence = orEmpty(b.StopReason), orEmpty(b.StopSequence)
		m.StopDetails, m.Container = notNull(b.StopDetails), notNull(b.Container)
		m.ContextManagement, m.Diagnostics = notNull(b.ContextManagement), notNull(b.Diagnostics)
		m.Usage.tidy()
	}
	if d := w.Delta; d != nil {
		m.Delta = &d.Delta
		if d.Inner != nil {
			m.Delta = d.Inner
		}
	}
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *Assistant) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Assistant) MarshalJSON() ([]byte, error) {
	w := assistantWire{
		assistantPlain: assistantPlain(m),
		Parent:         orNull(m.ParentToolUseID),
		Prompt:         last(m.Prompts),
		Timestamp:      wireTime{m.Timestamp},
	}
	if m.Delta != nil {
		w.Delta = &deltaLine{Delta: Delta{Type: DeltaType(EventBlockDelta)}, Inner: m.Delta}
	} else {
		w.Message = &assistantBody{
			ID: m.ID, Type: "message", Role: typeAssistant, Model: m.Model, Content: m.Content,
			StopReason: orNull(m.StopReason), StopSequence: orNull(m.StopSequence), Usage: m.Usage,
			StopDetails: m.StopDetails, Container: m.Container, ContextManagement: m.ContextManagement, Diagnostics: m.Diagnostics,
		}
		if m.StopReason == stopAtSequence {
			w.Message.StopSequence = &m.StopSequence // the CLI's own messages name an empty one
		}
	}
	return encode(&w.Header, typeAssistant, "", &w)
}
