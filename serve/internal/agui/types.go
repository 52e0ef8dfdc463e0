// Package agui has the types of the AG-UI protocol that the server speaks. They are
// plain values.
package agui

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Version is the version of AG-UI that the server speaks.
const Version = "1.0"

// RunInput is the body of POST /ag-ui/{preset}: what AG-UI calls RunAgentInput.
// Unknown members are ignored, as the protocol requires.
type RunInput struct {
	// ThreadID is the id of a conversation, or any other text, which then names
	// a conversation of the user.
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"` // an id of the client for this run
	// Messages are the conversation as the client knows it. Only the newest
	// message of the user counts: the server knows the rest.
	Messages []RunMessage `json:"messages"`
	// Resume answers the interrupts of the last run.
	Resume []ResumeEntry `json:"resume,omitempty"`
}

// RunMessage is a message of a client of AG-UI.
type RunMessage struct {
	ID      string          `json:"id"`               // its id in the client
	Role    string          `json:"role"`             // who said it: user, assistant and others of AG-UI
	Content json.RawMessage `json:"content,omitzero"` // a text, or parts
}

// ResumeEntry answers one interrupt.
type ResumeEntry struct {
	InterruptID string          `json:"interruptId"`      // the id of the interrupt
	Status      string          `json:"status"`           // whether it is answered or given up
	Payload     json.RawMessage `json:"payload,omitzero"` // the answer, by the responseSchema of the interrupt
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
	Type string `json:"type"` // the type of the event in AG-UI

	ThreadID        string `json:"threadId,omitzero"`        // the thread
	RunID           string `json:"runId,omitzero"`           // the run
	ProtocolVersion string `json:"protocolVersion,omitzero"` // the version of AG-UI

	MessageID string `json:"messageId,omitzero"` // the message that it belongs to
	Role      string `json:"role,omitzero"`      // whose message it is
	Delta     string `json:"delta,omitzero"`     // more text, or more of the arguments of a call

	ToolCallID      string  `json:"toolCallId,omitzero"`      // the tool call that it belongs to
	ToolCallName    string  `json:"toolCallName,omitzero"`    // the name of the tool
	ParentMessageID string  `json:"parentMessageId,omitzero"` // the message that makes the call
	Content         *string `json:"content,omitempty"`        // the result of a tool call

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

	Outcome  *RunOutcome    `json:"outcome,omitempty"`  // why the run has ended
	Usage    []RunUsage     `json:"usage,omitempty"`    // what the run has used, by model
	Metadata map[string]any `json:"metadata,omitempty"` // facts beyond the protocol
}

// RunSaid is a message in a snapshot.
type RunSaid struct {
	ID         string    `json:"id"`                  // its id
	Role       string    `json:"role"`                // user, assistant or tool
	Content    string    `json:"content"`             // its text
	ToolCallID string    `json:"toolCallId,omitzero"` // the call whose result it is
	ToolCalls  []RunCall `json:"toolCalls,omitempty"` // the calls that it makes
}

// RunCall is a tool call in a snapshot.
type RunCall struct {
	ID       string      `json:"id"`       // the id of the call
	Type     string      `json:"type"`     // always function
	Function RunFunction `json:"function"` // what is called
}

// RunFunction is the tool that is called, and its input.
type RunFunction struct {
	Name      string `json:"name"`      // the name of the tool
	Arguments string `json:"arguments"` // its input as JSON
}

// RunState is the state of the agent, as AG-UI calls it.
type RunState struct {
	// Todos is the list that the model keeps for itself.
	Todos []RunTodo `json:"todos"`
}

// RunTodo is one entry of the model's list.
type RunTodo struct {
	Text   string `json:"text"`            // what is to be done
	Active string `json:"active,omitzero"` // the text to show while it is being done
	Status string `json:"status"`          // pending, in_progress or completed
}

// RunOutcome is why a run has ended: success, interrupt or cancelled; for a subagent,
// success or suspended.
type RunOutcome struct {
	Type       string      `json:"type"`                 // how it ended
	Interrupts []Interrupt `json:"interrupts,omitempty"` // what a person has to answer
}

// Interrupt is an approval in AG-UI. A run ends with the pending interrupts, and the
// next run answers them. Meanwhile the conversation itself waits, as for every
// approval, and any user with the right role can decide elsewhere.
type Interrupt struct {
	// ID names the approval, the input that is shown, and the place in the log
	// at which the run has ended.
	ID     string `json:"id"`
	Reason string `json:"reason" enum:"tool_call,input_required"` // whether a call or an answer is asked for
	// Message sums up the question in one line.
	Message    string `json:"message,omitzero"`
	ToolCallID string `json:"toolCallId,omitzero"` // the call that it is about
	// ResponseSchema describes the payload of an answer.
	ResponseSchema json.RawMessage `json:"responseSchema,omitzero"`
	ExpiresAt      *time.Time      `json:"expiresAt,omitempty"` // when it can no longer be answered; missing: never
	// Metadata has the [api.Approval], as "approval".
	Metadata map[string]any `json:"metadata,omitempty"`
}

// RunUsage counts the tokens that a model has used. InputTokens includes those
// read from the cache.
type RunUsage struct {
	Provider    string `json:"provider"`                       // who runs the model
	Model       string `json:"model"`                          // the model
	Input       int64  `json:"inputTokens"`                    // tokens read
	Output      int64  `json:"outputTokens"`                   // tokens written
	CachedInput int64  `json:"cachedInputTokens,omitzero"`     // tokens read from the cache
	CacheWrite  int64  `json:"cacheWriteInputTokens,omitzero"` // tokens written to the cache
}
