package message

import "github.com/claude-agent-go/claude/internal/jsonx"

// Informational is a notice to show to the user.
type Informational struct {
	Header

	Content string `json:"content"`
	Level   Level  `json:"level"`
	// ToolUseID is the tool call that the notice is about.
	ToolUseID string `json:"tool_use_id,omitzero"`
	// PreventContinuation says that the turn goes no further.
	PreventContinuation bool   `json:"prevent_continuation,omitzero"`
	Tag                 string `json:"tag,omitzero"`
}

func (m *Informational) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
func (m Informational) MarshalJSON() ([]byte, error) {
	type plain Informational
	return encode(&m.Header, typeSystem, "informational", (*plain)(&m))
}

// Level is the weight of an [Informational] notice.
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

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
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

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
func (m LocalCommandOutput) MarshalJSON() ([]byte, error) {
	type plain LocalCommandOutput
	return encode(&m.Header, typeSystem, "local_command_output", (*plain)(&m))
}

// CommandsChanged lists the slash commands anew. It replaces the list from the
// start of the session.
type CommandsChanged struct {
	Header

	Commands []Command `json:"commands"`
}

func (m *CommandsChanged) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
func (m CommandsChanged) MarshalJSON() ([]byte, error) {
	type plain CommandsChanged
	return encode(&m.Header, typeSystem, "commands_changed", (*plain)(&m))
}

// Command is one entry of [CommandsChanged].
type Command struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	ArgumentHint string `json:"argumentHint"`
	Builtin      bool   `json:"builtin,omitzero"`
}

// PromptSuggestion is what the user may want to say next. It comes after the
// result.
type PromptSuggestion struct {
	Header

	Suggestion string `json:"suggestion"`
}

func (m *PromptSuggestion) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
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

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
func (m PluginInstall) MarshalJSON() ([]byte, error) {
	type plain PluginInstall
	return encode(&m.Header, typeSystem, "plugin_install", (*plain)(&m))
}

// MemoryRecall says which memories were given to the model.
type MemoryRecall struct {
	Header

	// Mode is "select" or "synthesize".
	Mode     string   `json:"mode"`
	Memories []Memory `json:"memories"`
}

func (m *MemoryRecall) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
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

// FilesPersisted says which files were stored.
type FilesPersisted struct {
	Header

	Files       []PersistedFile `json:"files"`
	Failed      []PersistedFile `json:"failed"`
	ProcessedAt string          `json:"processed_at"`
}

func (m *FilesPersisted) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or the wire form of the fields when there is none.
func (m FilesPersisted) MarshalJSON() ([]byte, error) {
	type plain FilesPersisted
	return encode(&m.Header, typeSystem, "files_persisted", (*plain)(&m))
}

// PersistedFile is one entry of [FilesPersisted]: FileID of a stored file,
// Error of a failed one.
type PersistedFile struct {
	Filename string `json:"filename"`
	FileID   string `json:"file_id,omitzero"`
	Error    string `json:"error,omitzero"`
}
