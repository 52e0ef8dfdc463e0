package hook

// Event is the name of a moment at which the CLI calls hooks. The set is open:
// [Raw] registers a hook for an event that this package does not name.
type Event string

// Gate reports whether something waits at the event for leave to happen: a tool
// call, or a prompt. A hook of such an event that breaks down blocks by default.
func (e Event) Gate() bool {
	return e == EventPreToolUse || e == EventPermissionRequest || e == EventUserPromptSubmit
}

// The events.
const (
	EventPreToolUse          Event = "PreToolUse"
	EventPostToolUse         Event = "PostToolUse"
	EventPostToolUseFailure  Event = "PostToolUseFailure"
	EventPostToolBatch       Event = "PostToolBatch"
	EventPermissionRequest   Event = "PermissionRequest"
	EventPermissionDenied    Event = "PermissionDenied"
	EventUserPromptSubmit    Event = "UserPromptSubmit"
	EventUserPromptExpansion Event = "UserPromptExpansion"
	EventMessageDisplay      Event = "MessageDisplay"
	EventNotification        Event = "Notification"
	EventStop                Event = "Stop"
	EventStopFailure         Event = "StopFailure"
	EventSubagentStart       Event = "SubagentStart"
	EventSubagentStop        Event = "SubagentStop"
	EventTeammateIdle        Event = "TeammateIdle"
	EventTaskCreated         Event = "TaskCreated"
	EventTaskCompleted       Event = "TaskCompleted"
	EventSetup               Event = "Setup"
	EventSessionStart        Event = "SessionStart"
	EventSessionEnd          Event = "SessionEnd"
	EventPreCompact          Event = "PreCompact"
	EventPostCompact         Event = "PostCompact"
	EventPreModelSwitch      Event = "PreModelSwitch"
	EventPostModelSwitch     Event = "PostModelSwitch"
	EventElicitation         Event = "Elicitation"
	EventElicitationResult   Event = "ElicitationResult"
	EventConfigChange        Event = "ConfigChange"
	EventInstructionsLoaded  Event = "InstructionsLoaded"
	EventCwdChanged          Event = "CwdChanged"
	EventFileChanged         Event = "FileChanged"
	EventDirectoryAdded      Event = "DirectoryAdded"
	EventWorktreeCreate      Event = "WorktreeCreate"
	EventWorktreeRemove      Event = "WorktreeRemove"
)
