package hook

// UserPromptSubmitInput is the input of [UserPromptSubmit].
type UserPromptSubmitInput struct {
	Base
	Prompt string `json:"prompt"`
	// Source says where the prompt comes from, when the CLI tells.
	Source       string `json:"source,omitzero"`
	SessionTitle string `json:"session_title,omitzero"`
}

// UserPromptExpansionInput is the input of [UserPromptExpansion].
type UserPromptExpansionInput struct {
	Base
	ExpansionType string `json:"expansion_type"`
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args"`
	CommandSource string `json:"command_source,omitzero"`
	// Prompt is what the user typed.
	Prompt string `json:"prompt"`
}

// MessageDisplayInput is the input of [MessageDisplay].
type MessageDisplayInput struct {
	Base
	TurnID    string `json:"turn_id"`
	MessageID string `json:"message_id"`
	// Index counts the pieces of a message; Final marks the last one.
	Index int  `json:"index"`
	Final bool `json:"final"`
	// Delta is the piece of text.
	Delta string `json:"delta"`
}

// NotificationInput is the input of [Notification].
type NotificationInput struct {
	Base
	Message string `json:"message"`
	Title   string `json:"title,omitzero"`
	// NotificationType is for example "permission_prompt".
	NotificationType string `json:"notification_type"`
}

// StopInput is the input of [Stop].
type StopInput struct {
	Base
	// StopHookActive says that the model goes on already because a hook made
	// it; a hook that never looks at it may keep the model going forever.
	StopHookActive       bool             `json:"stop_hook_active"`
	LastAssistantMessage string           `json:"last_assistant_message,omitzero"`
	BackgroundTasks      []BackgroundTask `json:"background_tasks,omitzero"`
	SessionCrons         []SessionCron    `json:"session_crons,omitzero"`
}

// StopFailureInput is the input of [StopFailure].
type StopFailureInput struct {
	Base
	Error                string `json:"error"`
	ErrorDetails         string `json:"error_details,omitzero"`
	LastAssistantMessage string `json:"last_assistant_message,omitzero"`
}

// SubagentStartInput is the input of [SubagentStart]. The agent is named in
// its Base.
type SubagentStartInput struct {
	Base
}

// SubagentStopInput is the input of [SubagentStop]. The agent is named in its
// Base.
type SubagentStopInput struct {
	Base
	// StopHookActive says that the agent goes on already because a hook made
	// it.
	StopHookActive       bool             `json:"stop_hook_active"`
	AgentTranscriptPath  string           `json:"agent_transcript_path"`
	LastAssistantMessage string           `json:"last_assistant_message,omitzero"`
	BackgroundTasks      []BackgroundTask `json:"background_tasks,omitzero"`
	SessionCrons         []SessionCron    `json:"session_crons,omitzero"`
}

// TeammateIdleInput is the input of [TeammateIdle].
type TeammateIdleInput struct {
	Base
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}

// TaskInput is the input of [TaskCreated] and [TaskCompleted].
type TaskInput struct {
	Base
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description,omitzero"`
	TeammateName    string `json:"teammate_name,omitzero"`
	TeamName        string `json:"team_name,omitzero"`
}
