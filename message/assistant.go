package message

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Assistant is what the model said. The CLI writes one line per content block:
// lines with the same ID are parts of one answer, and until the last of them
// StopReason is empty.
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

	// ParentToolUseID is the call of the agent tool that this line was said
	// under, empty for the main conversation.
	ParentToolUseID string `json:"-"`
	// Delta is a piece of an answer in the form of older peers, nil
	// otherwise. The current CLI sends a [StreamEvent] instead.
	Delta *Delta `json:"-"`

	// Error classifies an API error that the text reports.
	Error AssistantError `json:"error,omitzero"`
	// APIErrorStatus is the HTTP status of that error, 0 for none.
	APIErrorStatus int    `json:"api_error_status,omitzero"`
	APIErrorType   string `json:"api_error_type,omitzero"`
	RequestID      string `json:"request_id,omitzero"`
	// Prompts are the ids of the user messages that this line answers.
	Prompts []string `json:"user_message_uuids,omitzero"`
	// Supersedes lists the ids of messages that this one replaces.
	Supersedes   []string `json:"supersedes,omitzero"`
	ResumeReason string   `json:"resume_reason,omitzero"`
	// Aborted says that an interrupt cut the answer short.
	Aborted bool `json:"aborted,omitzero"`

	// AgentID, SubagentType and TaskDescription name the subagent that
	// spoke.
	AgentID         string `json:"agent_id,omitzero"`
	SubagentType    string `json:"subagent_type,omitzero"`
	TaskDescription string `json:"task_description,omitzero"`

	Timestamp time.Time `json:"-"`
	// ContextUsage is the report of a /context command.
	ContextUsage json.RawMessage `json:"context_usage,omitzero"`
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
}

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

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
func (m Assistant) MarshalJSON() ([]byte, error) {
	w := assistantWire{
		assistantPlain: assistantPlain(m),
		Parent:         orNull(m.ParentToolUseID),
		Prompt:         first(m.Prompts),
		Timestamp:      wireTime{m.Timestamp},
	}
	if m.Delta != nil {
		w.Delta = &deltaLine{Delta: Delta{Type: string(EventBlockDelta)}, Inner: m.Delta}
	} else {
		w.Message = &assistantBody{
			ID: m.ID, Type: "message", Role: typeAssistant, Model: m.Model, Content: m.Content,
			StopReason: orNull(m.StopReason), StopSequence: orNull(m.StopSequence), Usage: m.Usage,
		}
	}
	return encode(&w.Header, typeAssistant, "", &w)
}
