package message

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// User is a message in the user's voice. From the CLI it carries tool results,
// text that the CLI itself adds, and, if you ask for it, the echo of what was
// sent. To the CLI it is the prompt; see [NewUser].
type User struct {
	Header

	Content Content `json:"-"`
	// Plain reports that Content is a single text, written as a string instead
	// of a list.
	Plain bool `json:"-"`
	// ParentToolUseID is the call of the agent tool that this line belongs
	// to, empty for the main conversation.
	ParentToolUseID string `json:"-"`

	// ToolUseResult is the tool's own output, richer than the block for the
	// model. Its shape depends on the tool.
	ToolUseResult json.RawMessage `json:"tool_use_result,omitzero"`
	// IsSynthetic reports that no person wrote the message.
	IsSynthetic bool `json:"isSynthetic,omitzero"`
	// IsReplay reports that this is the echo of a message sent before.
	IsReplay bool `json:"isReplay,omitzero"`
	// ToolResultMeta records for each tool result who allowed or denied the
	// call, and why a tool did not run. Older CLIs leave it out.
	ToolResultMeta []ToolResultMeta `json:"tool_result_meta,omitzero"`
	// RefusedMessageID is the answer that was refused, in a message with which
	// the CLI asks the same model again.
	RefusedMessageID string `json:"refused_message_id,omitzero"`
	// Priority places a message among other waiting messages.
	Priority Priority `json:"priority,omitzero"`
	// Origin is who caused the message, nil if not known.
	Origin *Origin `json:"origin,omitzero"`
	// ShouldQuery, when false, adds the message to the conversation without
	// asking the model. Nil means true.
	ShouldQuery *bool `json:"shouldQuery,omitzero"`
	// ClientComposed keeps the CLI from interpreting the text: no slash
	// commands, no @file, no attachments. A session refuses to send such a
	// message to a CLI that is too old for it.
	ClientComposed bool      `json:"client_composed,omitzero"`
	Timestamp      time.Time `json:"-"`

	// AgentID, SubagentType and TaskDescription name the subagent that the
	// line belongs to.
	AgentID         string `json:"agent_id,omitzero"`
	SubagentType    string `json:"subagent_type,omitzero"`
	TaskDescription string `json:"task_description,omitzero"`
}

// ToolResultMeta holds the CLI's notes on a tool result, beyond the result
// itself.
type ToolResultMeta struct {
	// ID is that of the tool call.
	ID string `json:"id"`
	// PermissionDecision is the decision about the call.
	PermissionDecision PermissionOutcome `json:"permission_decision,omitzero"`
	// NonExecutionKind is why the tool did not run, empty if it did: for
	// example "user-rejected", "permission-rule" or "cancelled".
	NonExecutionKind string `json:"non_execution_kind,omitzero"`
	// UserFeedback is a person's remark with the decision.
	UserFeedback string `json:"user_feedback,omitzero"`
}

// PermissionOutcome is a decision about a tool call, and its author.
type PermissionOutcome struct {
	// Decision is "accept" or "reject".
	Decision string `json:"decision"`
	// Source is who decided, for example "config", "hook" or "user_temporary".
	Source string `json:"source"`
	// ReasonType is the kind of the reason, for example "mode" or "rule".
	ReasonType string `json:"reason_type,omitzero"`
}

// Priority places a user message among other waiting messages.
type Priority string

// The priorities. The set is open.
const (
	PriorityNow   Priority = "now"
	PriorityNext  Priority = "next"
	PriorityLater Priority = "later"
)

// NewUser returns a message to send.
func NewUser(blocks ...Block) *User {
	return &User{Header: Header{Type: typeUser}, Content: blocks}
}

// Text joins the text blocks.
func (m *User) Text() string { return m.Content.Text() }

// ToolResults returns the tool results in order.
func (m *User) ToolResults() []*ToolResultBlock { return m.Content.ToolResults() }

type userBody struct {
	Role    string      `json:"role"`
	Content wireContent `json:"content"`
}

type userPlain User

// userWire is the line. Its first members hide those of the header: here
// session_id is present even when it is empty.
type userWire struct {
	Type      string    `json:"type"`
	Message   *userBody `json:"message,omitzero"`
	Parent    *string   `json:"parent_tool_use_id"`
	SessionID string    `json:"session_id"`
	UUID      string    `json:"uuid,omitzero"`
	userPlain
	Timestamp wireTime `json:"timestamp,omitzero"`
	// Content is where some peers put the content, without a message. It is
	// understood and never written: the CLI exits on it.
	Content wireContent `json:"content,omitzero"`
}

func (m *User) decode(raw []byte) error {
	var w userWire
	err := jsonx.Unmarshal(raw, &w)
	*m = User(w.userPlain)
	m.Type, m.SessionID, m.UUID = w.Type, w.SessionID, w.UUID
	m.ParentToolUseID = orEmpty(w.Parent)
	m.Timestamp = w.Timestamp.Time
	content := w.Content
	if w.Message != nil {
		content = w.Message.Content
	}
	m.Content, m.Plain = content.Content, content.plain
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *User) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m User) MarshalJSON() ([]byte, error) {
	if len(m.Raw) != 0 {
		return m.Raw, nil
	}
	return jsonx.Marshal(&userWire{
		Type:      typeUser,
		Message:   &userBody{Role: typeUser, Content: wireContent{m.Content, m.Plain}},
		Parent:    orNull(m.ParentToolUseID),
		SessionID: m.SessionID,
		UUID:      m.UUID,
		userPlain: userPlain(m),
		Timestamp: wireTime{m.Timestamp},
	})
}
