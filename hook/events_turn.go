package hook

import "context"

// UserPromptSubmit is called when a prompt has arrived, before the model gets
// it. It can block the prompt ([BlockPrompt]).
func UserPromptSubmit(fn func(ctx context.Context, in *UserPromptSubmitInput) (*PromptOutput, error)) Hook {
	return answer(EventUserPromptSubmit, "", fn)
}

// UserPromptSubmitInput is the input of [UserPromptSubmit].
type UserPromptSubmitInput struct {
	Base
	Prompt string `json:"prompt"`
	// Source names the origin of the prompt, if the CLI reports it.
	Source       string `json:"source,omitzero"`
	SessionTitle string `json:"session_title,omitzero"`
}

// UserPromptExpansion is called when a slash command is about to become a
// prompt; the matcher is for command names. It can block the prompt.
func UserPromptExpansion(matcher string, fn func(ctx context.Context, in *UserPromptExpansionInput) (*PromptOutput, error)) Hook {
	return answer(EventUserPromptExpansion, matcher, fn)
}

// UserPromptExpansionInput is the input of [UserPromptExpansion].
type UserPromptExpansionInput struct {
	Base
	ExpansionType string `json:"expansion_type"`
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args"`
	CommandSource string `json:"command_source,omitzero"`
	// Prompt is the text that the user typed.
	Prompt string `json:"prompt"`
}

// MessageDisplay is called with each piece of the model's text that is shown.
func MessageDisplay(fn func(ctx context.Context, in *MessageDisplayInput) (*DisplayOutput, error)) Hook {
	return answer(EventMessageDisplay, "", fn)
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

// Notification is called when the CLI notifies the user; the matcher is for
// notification types.
func Notification(matcher string, fn func(ctx context.Context, in *NotificationInput) (*ContextOutput, error)) Hook {
	return answer(EventNotification, matcher, fn)
}

// NotificationInput is the input of [Notification].
type NotificationInput struct {
	Base
	Message string `json:"message"`
	Title   string `json:"title,omitzero"`
	// NotificationType is for example "permission_prompt".
	NotificationType string `json:"notification_type"`
}

// Stop is called when the model is about to end its turn. Blocking makes the
// model continue ([KeepGoing]).
func Stop(fn func(ctx context.Context, in *StopInput) (*StopOutput, error)) Hook {
	return answer(EventStop, "", fn)
}

// StopInput is the input of [Stop].
type StopInput struct {
	Base
	// StopHookActive reports that the model is already continuing because of a
	// hook; a hook that never checks it may keep the model going forever.
	StopHookActive       bool                    `json:"stop_hook_active"`
	LastAssistantMessage string                  `json:"last_assistant_message,omitzero"`
	BackgroundTasks      []BackgroundTaskSummary `json:"background_tasks,omitzero"`
	SessionCrons         []SessionCron           `json:"session_crons,omitzero"`
}

// StopFailure is called when a turn has ended with an API error; the matcher
// is for kinds of errors.
func StopFailure(matcher string, fn func(ctx context.Context, in *StopFailureInput) error) Hook {
	return observe(EventStopFailure, matcher, fn)
}

// StopFailureInput is the input of [StopFailure].
type StopFailureInput struct {
	Base
	Error                string `json:"error"`
	ErrorDetails         string `json:"error_details,omitzero"`
	LastAssistantMessage string `json:"last_assistant_message,omitzero"`
}

// SubagentStart is called when a subagent starts; the matcher is for agent
// types. The context goes to the subagent.
func SubagentStart(matcher string, fn func(ctx context.Context, in *SubagentStartInput) (*ContextOutput, error)) Hook {
	return answer(EventSubagentStart, matcher, fn)
}

// SubagentStartInput is the input of [SubagentStart]. Its Base names the
// agent.
type SubagentStartInput struct {
	Base
}

// SubagentStop is called when a subagent is about to end; the matcher is for
// agent types. Blocking makes it continue ([KeepGoing]).
func SubagentStop(matcher string, fn func(ctx context.Context, in *SubagentStopInput) (*StopOutput, error)) Hook {
	return answer(EventSubagentStop, matcher, fn)
}

// SubagentStopInput is the input of [SubagentStop]. Its Base names the agent.
type SubagentStopInput struct {
	Base
	// StopHookActive reports that the agent is already continuing because of a
	// hook.
	StopHookActive       bool                    `json:"stop_hook_active"`
	AgentTranscriptPath  string                  `json:"agent_transcript_path"`
	LastAssistantMessage string                  `json:"last_assistant_message,omitzero"`
	BackgroundTasks      []BackgroundTaskSummary `json:"background_tasks,omitzero"`
	SessionCrons         []SessionCron           `json:"session_crons,omitzero"`
}

// TeammateIdle is called when a teammate is about to run out of work. Blocking
// keeps it working.
func TeammateIdle(fn func(ctx context.Context, in *TeammateIdleInput) (*GateOutput, error)) Hook {
	return answer(EventTeammateIdle, "", fn)
}

// TeammateIdleInput is the input of [TeammateIdle].
type TeammateIdleInput struct {
	Base
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}

// TaskCreated is called when a task is about to be added to the list. It can
// block that.
func TaskCreated(fn func(ctx context.Context, in *TaskInput) (*GateOutput, error)) Hook {
	return answer(EventTaskCreated, "", fn)
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

// TaskCompleted is called when a task is about to be marked as done. It can
// block that.
func TaskCompleted(fn func(ctx context.Context, in *TaskInput) (*GateOutput, error)) Hook {
	return answer(EventTaskCompleted, "", fn)
}
