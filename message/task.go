package message

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// TaskStarted reports that a separate task began: a subagent, a background
// shell or a workflow.
type TaskStarted struct {
	Header

	TaskID string `json:"task_id"`
	RunID  string `json:"run_id,omitzero"`
	// ToolUseID is the tool call that started the task.
	ToolUseID   string `json:"tool_use_id,omitzero"`
	Description string `json:"description"`
	// TaskType is the kind of work, such as "local_agent".
	TaskType       string `json:"task_type,omitzero"`
	SubagentType   string `json:"subagent_type,omitzero"`
	WorkflowName   string `json:"workflow_name,omitzero"`
	Prompt         string `json:"prompt,omitzero"`
	IsBackgrounded bool   `json:"is_backgrounded,omitzero"`
	// SpawnDepth is how deeply the task is nested; ParentTaskID is the task it
	// is nested in.
	SpawnDepth   int    `json:"spawn_depth,omitzero"`
	ParentTaskID string `json:"parent_task_id,omitzero"`
	// SkipTranscript and Ambient mark housekeeping that is not worth
	// showing.
	SkipTranscript bool `json:"skip_transcript,omitzero"`
	Ambient        bool `json:"ambient,omitzero"`
}

func (m *TaskStarted) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m TaskStarted) MarshalJSON() ([]byte, error) {
	type plain TaskStarted
	return encode(&m.Header, typeSystem, "task_started", (*plain)(&m))
}

// TaskProgress reports the current activity of a task.
type TaskProgress struct {
	Header

	TaskID       string    `json:"task_id"`
	RunID        string    `json:"run_id,omitzero"`
	ToolUseID    string    `json:"tool_use_id,omitzero"`
	Description  string    `json:"description"`
	SubagentType string    `json:"subagent_type,omitzero"`
	Usage        TaskUsage `json:"usage"`
	LastToolName string    `json:"last_tool_name,omitzero"`
	Summary      string    `json:"summary,omitzero"`
}

func (m *TaskProgress) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m TaskProgress) MarshalJSON() ([]byte, error) {
	type plain TaskProgress
	return encode(&m.Header, typeSystem, "task_progress", (*plain)(&m))
}

// TaskUpdated reports a change of a task.
type TaskUpdated struct {
	Header

	TaskID string    `json:"task_id"`
	RunID  string    `json:"run_id,omitzero"`
	Patch  TaskPatch `json:"patch"`
}

func (m *TaskUpdated) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m TaskUpdated) MarshalJSON() ([]byte, error) {
	type plain TaskUpdated
	return encode(&m.Header, typeSystem, "task_updated", (*plain)(&m))
}

// TaskPatch holds the changes of a task. An unchanged member is zero.
type TaskPatch struct {
	Status      TaskStatus `json:"status,omitzero"`
	Description string     `json:"description,omitzero"`
	// EndTime is in milliseconds since 1970.
	EndTime        int64  `json:"end_time,omitzero"`
	TotalPausedMS  int64  `json:"total_paused_ms,omitzero"`
	Error          string `json:"error,omitzero"`
	IsBackgrounded *bool  `json:"is_backgrounded,omitzero"`
}

// TaskNotification reports that a task ended. It may start a turn that no
// prompt asked for.
type TaskNotification struct {
	Header

	TaskID    string     `json:"task_id"`
	RunID     string     `json:"run_id,omitzero"`
	ToolUseID string     `json:"tool_use_id,omitzero"`
	Status    TaskStatus `json:"status"`
	Reason    string     `json:"reason,omitzero"`
	// OutputFile is where the task's output is.
	OutputFile     string          `json:"output_file"`
	Summary        string          `json:"summary"`
	Usage          TaskUsage       `json:"usage,omitzero"`
	ResourceLinks  json.RawMessage `json:"resource_links,omitzero"`
	SkipTranscript bool            `json:"skip_transcript,omitzero"`
	Ambient        bool            `json:"ambient,omitzero"`
}

func (m *TaskNotification) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m TaskNotification) MarshalJSON() ([]byte, error) {
	type plain TaskNotification
	return encode(&m.Header, typeSystem, "task_notification", (*plain)(&m))
}

// Done reports whether the task has ended. A notification without a status
// also means that it has.
func (m *TaskNotification) Done() bool { return m.Status == "" || m.Status.Done() }

// Done reports whether the change is the end of the task.
func (m *TaskUpdated) Done() bool { return m.Patch.Status.Done() }

// TaskStatus is the status of a task. The zero value means that the task is
// running.
type TaskStatus string

// The statuses of a task. The set is open.
const (
	TaskPending   TaskStatus = "pending"
	TaskRunning   TaskStatus = "running"
	TaskPaused    TaskStatus = "paused"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	// TaskStopped and TaskKilled mean the same end: a *TaskNotification uses
	// the first, a *TaskUpdated the second.
	TaskStopped TaskStatus = "stopped"
	TaskKilled  TaskStatus = "killed"
)

// Done reports whether the task has ended, successfully or not. An unknown
// status counts as an end, so that a program does not wait for a task forever.
func (s TaskStatus) Done() bool {
	switch s {
	case "", TaskPending, TaskRunning, TaskPaused:
		return false
	}
	return true
}

// TaskUsage counts the usage of a task so far.
type TaskUsage struct {
	TotalTokens int   `json:"total_tokens"`
	ToolUses    int   `json:"tool_uses"`
	DurationMS  int64 `json:"duration_ms"`
}

// BackgroundTasks lists the tasks that run in the background. Each list
// replaces the one before.
type BackgroundTasks struct {
	Header

	Tasks []BackgroundTask `json:"tasks"`
}

func (m *BackgroundTasks) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m BackgroundTasks) MarshalJSON() ([]byte, error) {
	type plain BackgroundTasks
	return encode(&m.Header, typeSystem, "background_tasks_changed", (*plain)(&m))
}

// BackgroundTask is one entry of [BackgroundTasks].
type BackgroundTask struct {
	TaskID       string `json:"task_id"`
	RunID        string `json:"run_id,omitzero"`
	TaskType     string `json:"task_type"`
	SubagentType string `json:"subagent_type,omitzero"`
	Description  string `json:"description"`
}
