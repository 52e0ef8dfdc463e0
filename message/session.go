package message

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// SessionState reports whether the CLI is working, waiting or idle.
type SessionState struct {
	Header

	State Activity `json:"state"`
	// HostOnly marks a state that is meant for the host, not for its user.
	HostOnly bool `json:"sdk_host_only,omitzero"`
}

func (m *SessionState) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m SessionState) MarshalJSON() ([]byte, error) {
	type plain SessionState
	return encode(&m.Header, typeSystem, "session_state_changed", (*plain)(&m))
}

// Activity is the state of a session. It is an alias for the type in package
// control, which the reply to the handshake also uses.
type Activity = control.Activity

// The states of a session. The set is open.
const (
	ActivityIdle    Activity = "idle"
	ActivityRunning Activity = "running"
	// ActivityRequiresAction means that the CLI waits for an answer, such as a
	// permission.
	ActivityRequiresAction Activity = "requires_action"
)

// SessionWritesLost reports that the CLI could not save everything because the
// disk was full. It comes at most once, as the CLI exits, and does not change
// any result.
type SessionWritesLost struct {
	Header

	// ErrorCode is "ENOSPC" for a full disk, "EDQUOT" for a used-up quota.
	ErrorCode string `json:"error_code"`
	// Lost lists what was not saved: "transcript" and "global_config". A
	// session that lost lines of its transcript lacks them when it is resumed.
	Lost []string `json:"lost"`
	// TranscriptSessionIDs are the sessions whose transcripts lost lines.
	TranscriptSessionIDs []string `json:"transcript_session_ids,omitzero"`
}

func (m *SessionWritesLost) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m SessionWritesLost) MarshalJSON() ([]byte, error) {
	type plain SessionWritesLost
	return encode(&m.Header, typeSystem, "session_writes_lost", (*plain)(&m))
}

// Status reports what the CLI is doing, or that the permission mode changed.
type Status struct {
	Header

	// Status is "compacting", "requesting" or, when that is over, empty.
	Status         string          `json:"status"`
	PermissionMode permission.Mode `json:"permissionMode,omitzero"`
	// CompactResult and CompactError report how a compaction ended.
	CompactResult string `json:"compact_result,omitzero"`
	CompactError  string `json:"compact_error,omitzero"`
	// CompactOutputChars is the length of the summary so far.
	CompactOutputChars int `json:"compact_output_chars,omitzero"`
	// Prompts are the ids of the user messages that are being answered.
	Prompts []string `json:"user_message_uuids,omitzero"`
}

// EndsCompaction reports whether a compaction that runs is over with this status. One that
// the CLI gives up, such as because a hook blocks it, may have neither a CompactResult nor a
// CompactError. It may be called from any goroutine.
func (m *Status) EndsCompaction() bool {
	if m.Status == "compacting" {
		return false
	}
	return m.CompactResult != "" || m.CompactError != "" || m.Status == "" && m.PermissionMode == "" && m.CompactOutputChars == 0
}

func (m *Status) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Status) MarshalJSON() ([]byte, error) {
	type plain Status
	w := struct {
		plain
		Status *string `json:"status"`
	}{plain(m), orNull(m.Status)}
	return encode(&w.Header, typeSystem, "status", &w)
}

// CompactBoundary reports that the conversation before it was replaced by a
// summary.
type CompactBoundary struct {
	Header

	Metadata CompactMetadata `json:"compact_metadata"`
	// LogicalParentUUID is the message that the summary comes after.
	LogicalParentUUID string `json:"logical_parent_uuid,omitzero"`
}

func (m *CompactBoundary) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m CompactBoundary) MarshalJSON() ([]byte, error) {
	type plain CompactBoundary
	return encode(&m.Header, typeSystem, "compact_boundary", (*plain)(&m))
}

// CompactMetadata is the content of a [CompactBoundary].
type CompactMetadata struct {
	// Trigger is "manual" or "auto".
	Trigger    string `json:"trigger"`
	PreTokens  int    `json:"pre_tokens"`
	PostTokens int    `json:"post_tokens,omitzero"`
	DurationMS int64  `json:"duration_ms,omitzero"`
	// CumulativeDroppedTokens counts the tokens that all compactions have
	// dropped so far.
	CumulativeDroppedTokens int `json:"cumulative_dropped_tokens,omitzero"`
	// PreservedSegment and PreservedMessages name what was kept.
	PreservedSegment  json.RawMessage `json:"preserved_segment,omitzero"`
	PreservedMessages json.RawMessage `json:"preserved_messages,omitzero"`
}

// ConversationReset reports that a new conversation began in the same process,
// for example after /clear. Later messages have another session id.
type ConversationReset struct {
	Header

	// NewConversationID is not the id of the new session: the next Init has
	// that.
	NewConversationID string `json:"new_conversation_id"`
	Trigger           string `json:"trigger,omitzero"`
	// Prompt is the id of the user message that asked for the reset.
	Prompt    string    `json:"user_message_uuid,omitzero"`
	Timestamp time.Time `json:"-"`
}

type resetPlain ConversationReset

type resetWire struct {
	resetPlain
	Timestamp wireTime `json:"timestamp,omitzero"`
}

func (m *ConversationReset) decode(raw []byte) error {
	var w resetWire
	err := jsonx.Unmarshal(raw, &w)
	*m = ConversationReset(w.resetPlain)
	m.Timestamp = w.Timestamp.Time
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *ConversationReset) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ConversationReset) MarshalJSON() ([]byte, error) {
	w := resetWire{resetPlain(m), wireTime{m.Timestamp}}
	return encode(&w.Header, "conversation_reset", "", &w)
}

// ActiveGoal reports the progress of a goal that was set with /goal. It comes each
// time the CLI has checked the goal's condition.
type ActiveGoal struct {
	Header

	// Goal is nil once the goal is met or given up.
	Goal *Goal `json:"value"`
}

func (m *ActiveGoal) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ActiveGoal) MarshalJSON() ([]byte, error) {
	type plain ActiveGoal
	return encode(&m.Header, "active_goal", "", (*plain)(&m))
}

// Goal has the condition that the agent works towards until it holds.
type Goal struct {
	Condition string `json:"condition"`
	// Iterations counts the checks so far.
	Iterations int `json:"iterations"`
	// SetAt is when the goal was set, as the CLI's time stamp.
	SetAt         int64 `json:"set_at"`
	TokensAtStart int64 `json:"tokens_at_start"`
	// LastReason is why the condition did not hold at the last check.
	LastReason string `json:"last_reason,omitzero"`
}

// SessionTitle reports that the session has a new title.
type SessionTitle struct {
	Header

	Title string `json:"title"`
}

func (m *SessionTitle) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m SessionTitle) MarshalJSON() ([]byte, error) {
	type plain SessionTitle
	return encode(&m.Header, typeSystem, "session_title_changed", (*plain)(&m))
}

// CommandLifecycle follows one user message through the queue. It comes only
// for messages that were sent with a UUID.
type CommandLifecycle struct {
	Header

	// CommandUUID is the UUID of the user message.
	CommandUUID string       `json:"command_uuid"`
	State       CommandState `json:"state"`
}

func (m *CommandLifecycle) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m CommandLifecycle) MarshalJSON() ([]byte, error) {
	type plain CommandLifecycle
	return encode(&m.Header, "command_lifecycle", "", (*plain)(&m))
}

// CommandState is the state of a user message.
type CommandState string

// The states of a user message. The set is open. The last four are final. A
// message that had started gets its [Result] just before its final state, even
// when that is [CommandCancelled]; one that had not started gets no result.
const (
	CommandQueued    CommandState = "queued"
	CommandStarted   CommandState = "started"
	CommandCompleted CommandState = "completed"
	CommandCancelled CommandState = "cancelled"
	CommandDiscarded CommandState = "discarded"
	CommandRefused   CommandState = "refused"
)

// ControlProgress reports that the CLI is working on a slow control request.
type ControlProgress struct {
	Header

	RequestID string `json:"request_id"`
	// Status is "started" or "api_retry"; the rest belongs to the latter.
	Status       string  `json:"status"`
	Attempt      int     `json:"attempt,omitzero"`
	MaxRetries   int     `json:"max_retries,omitzero"`
	RetryDelayMS float64 `json:"retry_delay_ms,omitzero"`
	ErrorStatus  int     `json:"error_status,omitzero"`
}

func (m *ControlProgress) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ControlProgress) MarshalJSON() ([]byte, error) {
	type plain ControlProgress
	return encode(&m.Header, typeSystem, "control_request_progress", (*plain)(&m))
}
