package hook

import "context"

// UserPromptSubmit is called when a prompt has come in, before the model gets
// it. It can be blocked ([BlockPrompt]).
func UserPromptSubmit(fn func(ctx context.Context, in *UserPromptSubmitInput) (*PromptOutput, error)) Hook {
	return answer(EventUserPromptSubmit, "", fn)
}

// UserPromptExpansion is called when a slash command is about to become a
// prompt; the matcher is for command names. It can be blocked.
func UserPromptExpansion(matcher string, fn func(ctx context.Context, in *UserPromptExpansionInput) (*PromptOutput, error)) Hook {
	return answer(EventUserPromptExpansion, matcher, fn)
}

// MessageDisplay is called with each piece of the model's text that is shown.
func MessageDisplay(fn func(ctx context.Context, in *MessageDisplayInput) (*DisplayOutput, error)) Hook {
	return answer(EventMessageDisplay, "", fn)
}

// Notification is called when the CLI notifies the user; the matcher is for
// notification types.
func Notification(matcher string, fn func(ctx context.Context, in *NotificationInput) (*ContextOutput, error)) Hook {
	return answer(EventNotification, matcher, fn)
}

// Stop is called when the model is about to end its turn. Blocking makes it
// go on ([KeepGoing]).
func Stop(fn func(ctx context.Context, in *StopInput) (*StopOutput, error)) Hook {
	return answer(EventStop, "", fn)
}

// StopFailure is called when a turn has ended with an API error; the matcher
// is for kinds of errors.
func StopFailure(matcher string, fn func(ctx context.Context, in *StopFailureInput) error) Hook {
	return observe(EventStopFailure, matcher, fn)
}

// SubagentStart is called when a subagent starts; the matcher is for agent
// types. The context goes to the subagent.
func SubagentStart(matcher string, fn func(ctx context.Context, in *SubagentStartInput) (*ContextOutput, error)) Hook {
	return answer(EventSubagentStart, matcher, fn)
}

// SubagentStop is called when a subagent is about to end; the matcher is for
// agent types. Blocking makes it go on ([KeepGoing]).
func SubagentStop(matcher string, fn func(ctx context.Context, in *SubagentStopInput) (*StopOutput, error)) Hook {
	return answer(EventSubagentStop, matcher, fn)
}

// TeammateIdle is called when a teammate is about to have nothing to do.
// Blocking keeps it at work.
func TeammateIdle(fn func(ctx context.Context, in *TeammateIdleInput) (*GateOutput, error)) Hook {
	return answer(EventTeammateIdle, "", fn)
}

// TaskCreated is called when a task is about to be put on the list. It can be
// blocked.
func TaskCreated(fn func(ctx context.Context, in *TaskInput) (*GateOutput, error)) Hook {
	return answer(EventTaskCreated, "", fn)
}

// TaskCompleted is called when a task is about to be marked as done. It can be
// blocked.
func TaskCompleted(fn func(ctx context.Context, in *TaskInput) (*GateOutput, error)) Hook {
	return answer(EventTaskCompleted, "", fn)
}
