package message

// The values of type that the wire forms in this package need by name.
const (
	typeAssistant = "assistant"
	typeUser      = "user"
	typeResult    = "result"
	typeSystem    = "system"
	typeStream    = "stream_event"
	typeError     = "error"

	typeAttachment = "attachment"
)

// newMessage returns an empty message of the Go type that belongs to a wire
// type.
func newMessage(typ, subtype string) Message {
	switch typ {
	case typeAssistant:
		return new(Assistant)
	case typeUser:
		return new(User)
	case typeResult:
		return new(Result)
	case typeStream:
		return new(StreamEvent)
	case typeSystem:
		return newSystem(subtype)
	case typeError:
		return new(Error)
	case typeAttachment:
		return new(Attachment)
	case "rate_limit_event":
		return new(RateLimit)
	case "tool_progress":
		return new(ToolProgress)
	case "tool_use_summary":
		return new(ToolUseSummary)
	case "auth_status":
		return new(AuthStatus)
	case "prompt_suggestion":
		return new(PromptSuggestion)
	case "conversation_reset":
		return new(ConversationReset)
	case "command_lifecycle":
		return new(CommandLifecycle)
	}
	return new(Unknown)
}

// newSystem is newMessage for the subtypes of system.
func newSystem(subtype string) Message {
	switch subtype {
	case "init":
		return new(Init)
	case "status":
		return new(Status)
	case "compact_boundary":
		return new(CompactBoundary)
	case "api_retry":
		return new(APIRetry)
	case "control_request_progress":
		return new(ControlProgress)
	case FallbackUsed, FallbackMissing:
		return new(ModelFallback)
	case "local_command_output":
		return new(LocalCommandOutput)
	case HookStarted, HookProgress, HookResponse:
		return new(Hook)
	case "plugin_install":
		return new(PluginInstall)
	case "task_started":
		return new(TaskStarted)
	case "task_progress":
		return new(TaskProgress)
	case "task_updated":
		return new(TaskUpdated)
	case "task_notification":
		return new(TaskNotification)
	case "background_tasks_changed":
		return new(BackgroundTasks)
	case "thinking_tokens":
		return new(ThinkingTokens)
	case "session_state_changed":
		return new(SessionState)
	case "session_title_changed":
		return new(SessionTitle)
	case "ui_invalidate":
		return new(UIInvalidate)
	case "session_writes_lost":
		return new(SessionWritesLost)
	case "commands_changed":
		return new(CommandsChanged)
	case "notification":
		return new(Notification)
	case "files_persisted":
		return new(FilesPersisted)
	case "memory_recall":
		return new(MemoryRecall)
	case "elicitation_complete":
		return new(ElicitationComplete)
	case "permission_denied":
		return new(PermissionDenied)
	case "informational":
		return new(Informational)
	}
	return new(System)
}
