package message

import (
	"encoding/json"
	"errors"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// StreamEvent is a piece of an answer that is still being written. The CLI
// sends it only if you ask for partial messages, and never for subagents. The
// whole answer follows as [Assistant] lines.
type StreamEvent struct {
	Header

	// Event is the event of the API as received.
	Event json.RawMessage `json:"event"`

	// EventType is the type of Event.
	EventType EventType `json:"-"`
	// Index is the content block that a block event is about.
	Index int `json:"-"`
	// Delta is set on [EventBlockDelta] and [EventMessageDelta].
	Delta *Delta `json:"-"`
	// ContentBlock is set on [EventBlockStart]; it is usually empty.
	ContentBlock Block `json:"-"`
	// Usage is set on [EventMessageStart] and [EventMessageDelta].
	Usage *Usage `json:"-"`
	// MessageID is the id that the [Assistant] lines of this answer have.
	MessageID string `json:"api_message_id,omitzero"`
	// Model is set on [EventMessageStart].
	Model string `json:"-"`

	// ParentToolUseID is the call of the agent tool that this belongs to,
	// empty for the main conversation.
	ParentToolUseID string `json:"-"`
	// Prompts are the ids of the user messages that are being answered.
	Prompts      []string `json:"user_message_uuids,omitzero"`
	ResumeReason string   `json:"resume_reason,omitzero"`
	// TTFTMS is the time to the first token in milliseconds, if known.
	TTFTMS float64 `json:"ttft_ms,omitzero"`
	// ThinkingDisplay is how much of the model's thinking is shown, if known.
	ThinkingDisplay string `json:"thinking_display,omitzero"`
	// AbandonedBlocks lists, on [EventMessageStop], the blocks of the answer
	// that were cut short and do not count, nil for none.
	AbandonedBlocks *AbandonedBlocks `json:"abandoned_blocks,omitzero"`
	// OwedRows are ids of messages that the CLI has written but that a reader
	// of its transcript may not see yet.
	OwedRows []string `json:"owed_rows,omitzero"`
}

// AbandonedBlocks names blocks of an answer that was cut short.
type AbandonedBlocks struct {
	// MessageID is the id of the answer.
	MessageID string `json:"api_message_id"`
	// FromBlockIndex is the first block that does not count.
	FromBlockIndex int `json:"from_block_index"`
}

// EventType is the type of event in a [StreamEvent].
type EventType string

// The types of stream events. The set is open.
const (
	EventMessageStart EventType = "message_start"
	EventBlockStart   EventType = "content_block_start"
	EventBlockDelta   EventType = "content_block_delta"
	EventBlockStop    EventType = "content_block_stop"
	EventMessageDelta EventType = "message_delta"
	EventMessageStop  EventType = "message_stop"
)

// Delta is the piece that a stream event adds: to a content block, or to the
// message as a whole (StopReason).
type Delta struct {
	// Type is empty for a delta of the message as a whole.
	Type     DeltaType `json:"type,omitzero"`
	Text     string    `json:"text,omitzero"`
	Thinking string    `json:"thinking,omitzero"`
	// PartialJSON is a piece of the input of a tool call; the pieces are
	// JSON only when joined.
	PartialJSON  string `json:"partial_json,omitzero"`
	Signature    string `json:"signature,omitzero"`
	StopReason   string `json:"stop_reason,omitzero"`
	StopSequence string `json:"stop_sequence,omitzero"`
}

// DeltaType is the type of a [Delta] of a content block.
type DeltaType string

// The types of block deltas. The set is open.
const (
	DeltaText      DeltaType = "text_delta"
	DeltaThinking  DeltaType = "thinking_delta"
	DeltaSignature DeltaType = "signature_delta"
	DeltaInputJSON DeltaType = "input_json_delta"
)

// Text returns the text that the event adds to the answer, or "" if it adds
// none.
func (m *StreamEvent) Text() string {
	if m.Delta == nil || m.Delta.Type != DeltaText {
		return ""
	}
	return m.Delta.Text
}

type eventWire struct {
	Type         EventType       `json:"type"`
	Message      *eventMessage   `json:"message,omitzero"`
	Index        *int            `json:"index,omitzero"`
	ContentBlock json.RawMessage `json:"content_block,omitzero"`
	Delta        *Delta          `json:"delta,omitzero"`
	Usage        *Usage          `json:"usage,omitzero"`
}

// eventMessage is the empty message of a message_start event.
type eventMessage struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      Content `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        *Usage  `json:"usage,omitzero"`
}

type streamPlain StreamEvent

type streamWire struct {
	streamPlain
	Parent *string `json:"parent_tool_use_id"`
	Prompt string  `json:"user_message_uuid,omitzero"`
}

func (m *StreamEvent) decode(raw []byte) error {
	var w streamWire
	err := jsonx.Unmarshal(raw, &w)
	*m = StreamEvent(w.streamPlain)
	m.ParentToolUseID = orEmpty(w.Parent)
	m.Prompts = prompts(m.Prompts, w.Prompt)
	if err != nil && !jsonx.Mismatch(err) || m.Event == nil {
		return err
	}
	return errors.Join(err, m.decodeEvent())
}

func (m *StreamEvent) decodeEvent() error {
	var e eventWire
	err := jsonx.Unmarshal(m.Event, &e)
	m.EventType, m.Delta, m.Usage = e.Type, e.Delta, e.Usage
	if e.Index != nil {
		m.Index = *e.Index
	}
	if kindOf(e.ContentBlock) == '{' {
		m.ContentBlock = decodeBlock(e.ContentBlock, 1)
	}
	if s := e.Message; s != nil {
		m.Model = s.Model
		if m.MessageID == "" {
			m.MessageID = s.ID
		}
		if m.Usage == nil {
			m.Usage = s.Usage
		}
	}
	if m.Usage != nil {
		m.Usage.tidy()
	}
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *StreamEvent) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil. Event takes
// precedence over the fields read from it.
func (m StreamEvent) MarshalJSON() ([]byte, error) {
	if len(m.Raw) == 0 && len(m.Event) == 0 {
		event, err := m.encodeEvent()
		if err != nil {
			return nil, err
		}
		m.Event = event
	}
	w := streamWire{
		streamPlain: streamPlain(m),
		Parent:      orNull(m.ParentToolUseID),
		Prompt:      last(m.Prompts),
	}
	return encode(&w.Header, typeStream, "", &w)
}

func (m *StreamEvent) encodeEvent() ([]byte, error) {
	e := eventWire{Type: m.EventType, Delta: m.Delta, Usage: m.Usage}
	switch m.EventType {
	case EventBlockStart, EventBlockDelta, EventBlockStop:
		e.Index = &m.Index
	case EventMessageStart:
		e.Usage = nil
		e.Message = &eventMessage{
			ID: m.MessageID, Type: "message", Role: typeAssistant, Model: m.Model, Usage: m.Usage,
		}
	}
	if m.ContentBlock != nil {
		b, err := jsonx.Marshal(m.ContentBlock)
		if err != nil {
			return nil, err
		}
		e.ContentBlock = b
	}
	return jsonx.Marshal(&e)
}
