package api

import (
	"encoding/json"
	"time"
)

// EventType is the name of an event in a stream.
type EventType string

// The durable events: they have a number.
const (
	EventConversation EventType = "conversation" // it was changed: Event.Changed
	EventPrompt       EventType = "prompt"       // a prompt was accepted, has begun or is stuck: Event.Prompt
	EventTurn         EventType = "turn"         // a prompt has ended: Event.Turn
	EventMessage      EventType = "message"      // something was said: Event.Message
	EventApproval     EventType = "approval"     // a person is asked, or has decided: Event.Approval
	EventNotice       EventType = "notice"       // who did what: Event.Notice
)

// The transient events: they have no number, and no id in the stream.
const (
	EventPartial    EventType = "partial"    // text so far of all open blocks: Event.Partial
	EventDelta      EventType = "delta"      // more text of one block: Event.Delta
	EventCompaction EventType = "compaction" // the context is being compacted, or was: Event.Compaction
	EventSynced     EventType = "synced"     // all stored events have been sent
	EventReset      EventType = "reset"      // the position is unknown: load the conversation again
	EventPing       EventType = "ping"       // the stream is alive
	EventBye        EventType = "bye"        // the server stops: come back
	EventHint       EventType = "hint"       // in the feed: Event.Hint
	EventPending    EventType = "pending"    // in the feed, first: Event.Pending
)

// Event is something that happened in a conversation. In a stream its type is
// the event, its Seq the id, and the rest the data.
type Event struct {
	Type EventType `json:"-"`
	Seq  int64     `json:"seq,omitzero"` // its number in the conversation, from 1 and without gaps
	At   time.Time `json:"at,omitzero"`  // when it happened

	Changed  *Changed        `json:"changed,omitzero"`  // the new values
	Prompt   *Prompt         `json:"prompt,omitzero"`   // the prompt as it stood
	Turn     *Turn           `json:"turn,omitzero"`     // how a prompt ended
	Message  json.RawMessage `json:"message,omitzero"`  // the line of the CLI's transcript
	HTML     string          `json:"html,omitzero"`     // with html=1
	Approval *ApprovalNote   `json:"approval,omitzero"` // the approval as it stood
	Notice   *Notice         `json:"notice,omitzero"`   // who did what

	Partial    []Block     `json:"blocks,omitempty"`    // the open blocks
	Delta      *Delta      `json:"delta,omitzero"`      // more text of a block
	Compaction *Compaction `json:"compaction,omitzero"` // how a compaction stands
	Hint       *Hint       `json:"hint,omitzero"`       // which conversation has changed
	Pending    []Approval  `json:"approvals,omitzero"`  // the approvals that wait
	Reason     string      `json:"reason,omitzero"`     // of a reset or a bye
}

// Changed holds the new values after a change to a conversation.
type Changed struct {
	By       string   `json:"by"`             // the user who changed it
	Title    string   `json:"title"`          // its title
	Labels   []string `json:"labels"`         // its labels
	Archived bool     `json:"archived"`       // whether it has ended
	Shared   bool     `json:"shared"`         // whether all users see it
	Model    string   `json:"model,omitzero"` // the model; empty: the preset's own
	Mode     string   `json:"mode,omitzero"`  // the permission mode; empty: the preset's own
}

// ApprovalNote is the state of an approval when its event was made. The approval itself
// has the rest.
type ApprovalNote struct {
	ID        string        `json:"id"`                  // the id of the approval
	Kind      ApprovalKind  `json:"kind"`                // what is asked
	Tool      string        `json:"tool"`                // the name of the tool
	ToolUseID string        `json:"tool_use_id"`         // the id of the call in the messages
	Title     string        `json:"title"`               // the question in one line
	State     ApprovalState `json:"state"`               // how the approval stood
	Outcome   Outcome       `json:"outcome,omitzero"`    // how the call ended, once that is known
	DecidedBy string        `json:"decided_by,omitzero"` // the user who decided
	DecidedAt time.Time     `json:"decided_at,omitzero"` // when it was decided
	Mode      string        `json:"mode,omitzero"`       // the permission mode that was chosen with the decision
}

// Notice records who did what, and from where.
type Notice struct {
	Text    string `json:"text"`             // what was done
	User    string `json:"user,omitzero"`    // the user who did it
	Address string `json:"address,omitzero"` // where the request came from
	// Rewind names the prompt to which restoring files was requested or done.
	Rewind *RewindNote `json:"rewind,omitzero"`
}

// RewindNote is a step of a rewind. Each has two: it was asked for, and it is done.
type RewindNote struct {
	ID      string `json:"id"`      // of the rewind
	Message string `json:"message"` // the prompt to which the files return
	Done    bool   `json:"done"`    // whether this step is the last
}

// BlockKind is the kind of a block of a message.
type BlockKind string

// The kinds of blocks that are streamed.
const (
	BlockText     BlockKind = "text"
	BlockThinking BlockKind = "thinking"
)

// Block is a block of a message that is being written.
type Block struct {
	// Message is the id of the model's message, and Block the index in it.
	Message string    `json:"message"`
	Block   int       `json:"block"`
	Kind    BlockKind `json:"kind"` // text or thinking
	Text    string    `json:"text"` // the text so far
}

// Delta is more text of a block. It is applied only if Offset is the length of
// the text so far, as JavaScript counts it: in units of UTF-16. Otherwise connect
// again.
type Delta struct {
	Message string    `json:"message"` // the id of the model's message
	Block   int       `json:"block"`   // the index of the block in the message
	Kind    BlockKind `json:"kind"`    // text or thinking
	Offset  int       `json:"offset"`  // where the text goes
	Text    string    `json:"text"`    // the text to append
}

// Compaction is how a compaction of the context stands. One that runs is sent again to a
// reader that connects anew. One that is done also has a line in the transcript, before or
// after this event, with how many tokens it has dropped; one that was over at once may
// have only that. A reader that was away may miss that it failed: it is over at the latest
// with the turn.
type Compaction struct {
	ID    string          `json:"id"`             // the id of the compaction
	State CompactionState `json:"state"`          // whether it runs, or how it ended
	Error string          `json:"error,omitzero"` // why it failed
}

// CompactionState is the state of a compaction.
type CompactionState string

// The states of a compaction.
const (
	CompactionRunning CompactionState = "running"
	CompactionDone    CompactionState = "done"
	CompactionFailed  CompactionState = "failed"
)

// Hint announces that something has changed in a conversation: load it again.
// Only the newest of each conversation is sent.
type Hint struct {
	Conversation string `json:"conversation"` // the id of the conversation
	State        State  `json:"state"`        // what it is doing
	Pending      int    `json:"pending"`      // how many approvals wait for a person
	Seq          int64  `json:"seq"`          // the number of its last event
	// Gone is true if it was deleted, or the user may no longer see it.
	Gone bool `json:"gone,omitzero"`
}
