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

// kind is a wire type, for type "system" with its subtype, and the Go type that
// it is decoded into.
type kind struct {
	typ, subtype string
	make         func() Message
}

// of makes an empty message of a type.
func of[T any, P interface {
	*T
	Message
}]() Message {
	return P(new(T))
}

// kinds are all kinds of messages that this package knows.
var kinds = [...]kind{
	{typeAssistant, "", of[Assistant]},
	{typeUser, "", of[User]},
	{typeResult, "", of[Result]},
	{typeStream, "", of[StreamEvent]},
	{typeError, "", of[Error]},
	{typeAttachment, "", of[Attachment]},
	{"rate_limit_event", "", of[RateLimit]},
	{"tool_progress", "", of[ToolProgress]},
	{"tool_use_summary", "", of[ToolUseSummary]},
	{"auth_status", "", of[AuthStatus]},
	{"prompt_suggestion", "", of[PromptSuggestion]},
	{"conversation_reset", "", of[ConversationReset]},
	{"command_lifecycle", "", of[CommandLifecycle]},
	{"active_goal", "", of[ActiveGoal]},
	{typeSystem, "init", of[Init]},
	{typeSystem, "status", of[Status]},
	{typeSystem, "compact_boundary", of[CompactBoundary]},
	{typeSystem, "api_retry", of[APIRetry]},
	{typeSystem, "control_request_progress", of[ControlProgress]},
	{typeSystem, FallbackUsed, of[ModelFallback]},
	{typeSystem, FallbackMissing, of[ModelFallback]},
	{typeSystem, "local_command_output", of[LocalCommandOutput]},
	{typeSystem, HookStarted, of[HookEvent]},
	{typeSystem, HookProgress, of[HookEvent]},
	{typeSystem, HookResponse, of[HookEvent]},
	{typeSystem, "plugin_install", of[PluginInstall]},
	{typeSystem, "task_started", of[TaskStarted]},
	{typeSystem, "task_progress", of[TaskProgress]},
	{typeSystem, "task_updated", of[TaskUpdated]},
	{typeSystem, "task_notification", of[TaskNotification]},
	{typeSystem, "background_tasks_changed", of[BackgroundTasks]},
	{typeSystem, "thinking_tokens", of[ThinkingTokens]},
	{typeSystem, "session_state_changed", of[SessionState]},
	{typeSystem, "session_title_changed", of[SessionTitle]},
	{typeSystem, "ui_invalidate", of[UIInvalidate]},
	{typeSystem, "session_writes_lost", of[SessionWritesLost]},
	{typeSystem, "commands_changed", of[CommandsChanged]},
	{typeSystem, "notification", of[Notification]},
	{typeSystem, "files_persisted", of[FilesPersisted]},
	{typeSystem, "memory_recall", of[MemoryRecall]},
	{typeSystem, "elicitation_complete", of[ElicitationComplete]},
	{typeSystem, "permission_denied", of[PermissionDenied]},
	{typeSystem, "informational", of[Informational]},
	{typeSystem, "mirror_error", of[MirrorError]},
}

// newMessage returns an empty message of the Go type that belongs to a wire
// type.
func newMessage(typ, subtype string) Message {
	if typ != typeSystem {
		subtype = "" // it does not change the Go type
	}
	for i := range kinds {
		if kinds[i].subtype == subtype && kinds[i].typ == typ {
			return kinds[i].make()
		}
	}
	if typ == typeSystem {
		return new(System)
	}
	return new(Unknown)
}
