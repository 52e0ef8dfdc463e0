package serve

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// aguiVersion is the version of AG-UI that the server speaks.
const aguiVersion = "1.0"

// RunInput is the body of POST /ag-ui/{preset}: what AG-UI calls RunAgentInput.
// Unknown members are ignored, as the protocol requires.
type RunInput struct {
	// ThreadID is the id of a conversation, or any other text, which then names
	// a conversation of the user.
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	// Messages are the conversation as the client knows it. Only the newest
	// message of the user counts: the server knows the rest.
	Messages []RunMessage `json:"messages"`
	// Resume answers the interrupts of the last run.
	Resume []ResumeEntry `json:"resume,omitempty"`
}

// RunMessage is a message of a client of AG-UI.
type RunMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content,omitzero"` // a text, or parts
}

// ResumeEntry answers one interrupt.
type ResumeEntry struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload,omitzero"`
}

// UnmarshalJSON takes the members that it knows.
func (in *RunInput) UnmarshalJSON(data []byte) error {
	type plain RunInput // without this method
	return jsonx.Unmarshal(data, (*plain)(in))
}

// JSONSchema returns the schema of the body, which allows further members.
func (RunInput) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","required":["threadId","runId","messages"],"properties":{` +
		`"threadId":{"type":"string","minLength":1,"maxLength":255},"runId":{"type":"string","minLength":1,"maxLength":255},` +
		`"messages":{"type":"array","items":{"type":"object","required":["id","role"],"properties":{"id":{"type":"string","minLength":1},"role":{"type":"string"}}}},` +
		`"resume":{"type":"array","items":{"type":"object","required":["interruptId","status"],"properties":{` +
		`"interruptId":{"type":"string"},"status":{"type":"string","enum":["resolved","cancelled"]}}}}}}`)
}

// RunEvent is an event of AG-UI. Which members it has depends on its type.
type RunEvent struct {
	Type string `json:"type"`

	ThreadID        string `json:"threadId,omitzero"`
	RunID           string `json:"runId,omitzero"`
	ProtocolVersion string `json:"protocolVersion,omitzero"`

	MessageID string `json:"messageId,omitzero"`
	Role      string `json:"role,omitzero"`
	Delta     string `json:"delta,omitzero"`

	ToolCallID      string  `json:"toolCallId,omitzero"`
	ToolCallName    string  `json:"toolCallName,omitzero"`
	ParentMessageID string  `json:"parentMessageId,omitzero"`
	Content         *string `json:"content,omitempty"`

	// SubagentRunID and ParentToolCallID are both the tool call that started a
	// subagent. Name and Description describe it, and Result is its answer.
	SubagentRunID    string `json:"subagentRunId,omitzero"`
	ParentToolCallID string `json:"parentToolCallId,omitzero"`
	Description      string `json:"description,omitzero"`
	Result           any    `json:"result,omitempty"`

	// Snapshot is the state of the agent.
	Snapshot *RunState `json:"snapshot,omitempty"`

	// Messages belong to a snapshot of messages.
	Messages []RunSaid `json:"messages,omitempty"`

	// Name and Value belong to an event beyond the protocol: claude.conversation is an
	// [api.Conversation], claude.turn an [api.Turn], claude.notice an [api.Notice].
	Name  string `json:"name,omitzero"`
	Value any    `json:"value,omitempty"`

	// Message and Code belong to an error.
	Message string `json:"message,omitzero"`
	Code    string `json:"code,omitzero"`

	Outcome  *RunOutcome    `json:"outcome,omitempty"`
	Usage    []RunUsage     `json:"usage,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// RunSaid is a message in a snapshot.
type RunSaid struct {
	ID         string    `json:"id"`
	Role       string    `json:"role"`
	Content    string    `json:"content"`
	ToolCallID string    `json:"toolCallId,omitzero"`
	ToolCalls  []RunCall `json:"toolCalls,omitempty"`
}

// RunCall is a tool call in a snapshot.
type RunCall struct {
	ID       string      `json:"id"`
	Type     string      `json:"type"`
	Function RunFunction `json:"function"`
}

// RunFunction is the tool that is called, and its input.
type RunFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// RunState is the state of the agent, as AG-UI calls it.
type RunState struct {
	// Todos is the list that the model keeps for itself.
	Todos []RunTodo `json:"todos"`
}

// RunTodo is one entry of the model's list.
type RunTodo struct {
	Text   string `json:"text"`
	Active string `json:"active,omitzero"` // the text to show while it is being done
	Status string `json:"status"`
}

// RunOutcome is why a run has ended: success, interrupt or cancelled; for a subagent,
// success or suspended.
type RunOutcome struct {
	Type       string      `json:"type"`
	Interrupts []Interrupt `json:"interrupts,omitempty"`
}

// Interrupt is an approval in AG-UI. A run ends with the pending interrupts, and the
// next run answers them. Meanwhile the conversation itself waits, as for every
// approval, and any user with the right role can decide elsewhere.
type Interrupt struct {
	// ID names the approval, the input that is shown, and the place in the log
	// at which the run has ended.
	ID     string `json:"id"`
	Reason string `json:"reason" enum:"tool_call,input_required"`
	// Message sums up the question in one line.
	Message    string `json:"message,omitzero"`
	ToolCallID string `json:"toolCallId,omitzero"`
	// ResponseSchema describes the payload of an answer.
	ResponseSchema json.RawMessage `json:"responseSchema,omitzero"`
	ExpiresAt      *time.Time      `json:"expiresAt,omitempty"`
	// Metadata has the [api.Approval], as "approval".
	Metadata map[string]any `json:"metadata,omitempty"`
}

// RunUsage counts what a model has used. InputTokens includes those read from the
// cache.
type RunUsage struct {
	Provider    string `json:"provider"`
	Model       string `json:"model"`
	Input       int64  `json:"inputTokens"`
	Output      int64  `json:"outputTokens"`
	CachedInput int64  `json:"cachedInputTokens,omitzero"`
	CacheWrite  int64  `json:"cacheWriteInputTokens,omitzero"`
}
