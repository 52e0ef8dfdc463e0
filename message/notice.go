package message

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Informational is a notice to show to the user.
type Informational struct {
	Header

	Content string `json:"content"`
	Level   Level  `json:"level"`
	// ToolUseID is the tool call that the notice is about.
	ToolUseID string `json:"tool_use_id,omitzero"`
	// PreventContinuation reports that the turn does not continue.
	PreventContinuation bool   `json:"prevent_continuation,omitzero"`
	Tag                 string `json:"tag,omitzero"`
	// PromptSubmitOutcome is the effect of a hook on a prompt, nil for notices
	// about something else.
	PromptSubmitOutcome *PromptSubmitOutcome `json:"prompt_submit_outcome,omitzero"`
}

// PromptSubmitOutcome is the effect of a hook on a prompt.
type PromptSubmitOutcome struct {
	// Kind is "blocked_by_hook", "stopped_by_hook" or "no_verdict".
	Kind string `json:"kind,omitzero"`
	// NoVerdictKind is why there is no verdict.
	NoVerdictKind string `json:"no_verdict_kind,omitzero"`
	// PromptKept reports that the prompt is part of the conversation anyway.
	PromptKept bool   `json:"prompt_kept"`
	Reason     string `json:"reason,omitzero"`
}

func (m *Informational) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Informational) MarshalJSON() ([]byte, error) {
	type plain Informational
	return encode(&m.Header, typeSystem, "informational", (*plain)(&m))
}

// Level is the severity of an [Informational] notice.
type Level string

// The levels. The set is open.
const (
	LevelInfo       Level = "info"
	LevelNotice     Level = "notice"
	LevelSuggestion Level = "suggestion"
	LevelWarning    Level = "warning"
)

// Notification is a short text for a status line.
type Notification struct {
	Header

	// Key names the notification; a later one with the same key replaces
	// it.
	Key       string `json:"key"`
	Text      string `json:"text"`
	Priority  string `json:"priority"`
	Color     string `json:"color,omitzero"`
	TimeoutMS int64  `json:"timeout_ms,omitzero"`
}

func (m *Notification) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Notification) MarshalJSON() ([]byte, error) {
	type plain Notification
	return encode(&m.Header, typeSystem, "notification", (*plain)(&m))
}

// LocalCommandOutput is the output of a slash command that the CLI ran without
// the model.
type LocalCommandOutput struct {
	Header

	Content string `json:"content"`
}

func (m *LocalCommandOutput) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m LocalCommandOutput) MarshalJSON() ([]byte, error) {
	type plain LocalCommandOutput
	return encode(&m.Header, typeSystem, "local_command_output", (*plain)(&m))
}

// CommandsChanged lists the slash commands after a change. It replaces the
// list from the start of the session.
type CommandsChanged struct {
	Header

	Commands []control.Command `json:"commands"`
}

func (m *CommandsChanged) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m CommandsChanged) MarshalJSON() ([]byte, error) {
	type plain CommandsChanged
	return encode(&m.Header, typeSystem, "commands_changed", (*plain)(&m))
}

// Attachment is material that the CLI adds to the conversation by itself:
// mentioned files, selections, pasted media. The field Attachment is kept as
// received; its member "type" is its kind.
type Attachment struct {
	Header

	Attachment json.RawMessage `json:"attachment"`
	Timestamp  time.Time       `json:"-"`
}

type attachmentPlain Attachment

type attachmentWire struct {
	attachmentPlain
	Timestamp wireTime `json:"timestamp,omitzero"`
}

func (m *Attachment) decode(raw []byte) error {
	var w attachmentWire
	err := jsonx.Unmarshal(raw, &w)
	*m = Attachment(w.attachmentPlain)
	m.Timestamp = w.Timestamp.Time
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *Attachment) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Attachment) MarshalJSON() ([]byte, error) {
	w := attachmentWire{attachmentPlain(m), wireTime{m.Timestamp}}
	return encode(&w.Header, typeAttachment, "", &w)
}

// UIInvalidate reports that an extension wants its part of the screen redrawn.
type UIInvalidate struct {
	Header

	Event string `json:"event"`
}

func (m *UIInvalidate) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m UIInvalidate) MarshalJSON() ([]byte, error) {
	type plain UIInvalidate
	return encode(&m.Header, typeSystem, "ui_invalidate", (*plain)(&m))
}

// PromptSuggestion is a prompt that the user may want to send next. It comes
// after the result.
type PromptSuggestion struct {
	Header

	Suggestion string `json:"suggestion"`
}

func (m *PromptSuggestion) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m PromptSuggestion) MarshalJSON() ([]byte, error) {
	type plain PromptSuggestion
	return encode(&m.Header, "prompt_suggestion", "", (*plain)(&m))
}

// PluginInstall reports on the installation of plugins.
type PluginInstall struct {
	Header

	// Status is "started", "installed", "failed" or "completed".
	Status string `json:"status"`
	Name   string `json:"name,omitzero"`
	Error  string `json:"error,omitzero"`
}

func (m *PluginInstall) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m PluginInstall) MarshalJSON() ([]byte, error) {
	type plain PluginInstall
	return encode(&m.Header, typeSystem, "plugin_install", (*plain)(&m))
}

// MemoryRecall lists the memories that were given to the model.
type MemoryRecall struct {
	Header

	// Mode is "select" or "synthesize".
	Mode     string   `json:"mode"`
	Memories []Memory `json:"memories"`
}

func (m *MemoryRecall) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m MemoryRecall) MarshalJSON() ([]byte, error) {
	type plain MemoryRecall
	return encode(&m.Header, typeSystem, "memory_recall", (*plain)(&m))
}

// Memory is one entry of a [MemoryRecall].
type Memory struct {
	Path    string `json:"path"`
	Scope   string `json:"scope"`
	Content string `json:"content,omitzero"`
}

// FilesPersisted lists the files that were stored.
type FilesPersisted struct {
	Header

	Files       []PersistedFile `json:"files"`
	Failed      []PersistedFile `json:"failed"`
	ProcessedAt string          `json:"processed_at"`
}

func (m *FilesPersisted) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m FilesPersisted) MarshalJSON() ([]byte, error) {
	type plain FilesPersisted
	return encode(&m.Header, typeSystem, "files_persisted", (*plain)(&m))
}

// PersistedFile is one entry of [FilesPersisted]: it has FileID if the file
// was stored, Error if that failed.
type PersistedFile struct {
	Filename string `json:"filename"`
	FileID   string `json:"file_id,omitzero"`
	Error    string `json:"error,omitzero"`
}
