package hook

import (
	"reflect"
	"slices"
)

// Event is the name of a moment at which the CLI calls hooks. The set is open:
// [Raw] registers a hook for an event that this package does not name.
type Event string

// Gate reports whether something waits at the event for permission to
// continue: a tool call or a prompt. A hook for such an event blocks by
// default when it breaks down.
func (e Event) Gate() bool {
	info, _ := e.Info()
	return info.Gate
}

// Info returns the table's row for the event, and false for an event that this
// package does not know.
func (e Event) Info() (EventInfo, bool) {
	for i := range table {
		if table[i].Event == e {
			return table[i], true
		}
	}
	return EventInfo{}, false
}

// Events returns all events that this package knows: first those of tools,
// then those of turns, then those of sessions. The caller owns the slice.
func Events() []EventInfo { return slices.Clone(table[:]) }

// EventInfo describes an event.
type EventInfo struct {
	// Event is the name.
	Event Event
	// Input is the struct that hooks of the event receive a pointer to. Output
	// is the struct that they return a pointer to; nil if they have no output.
	Input, Output reflect.Type
	// Subject is the kind of name that a matcher is compared with, for example
	// [SubjectTool]. It is empty for an event without matchers.
	Subject string
	// Effect describes in a few words how a hook can act on the event.
	Effect string
	// Gate is the result of [Event.Gate].
	Gate bool
	// Waits reports that the CLI does not continue until a hook answers.
	Waits bool
	// Closed describes what happens when a hook fails closed; see [FailClosed].
	// It is empty for an event that only informs.
	Closed string
	// Since is the oldest version of the CLI that was seen with the event.
	// Before is the newest version that was seen with hooks but without the
	// event; it is empty for the events that hooks began with.
	Since, Before string

	refuse refusal
}

// SubjectTool is the Subject of events whose matchers are compared with the
// names of tools.
const SubjectTool = "tool"

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

// table holds everything that this package, and those built on it, know about
// events. Documents are made from it: go test ./internal/test/rules -update.
var table = [...]EventInfo{
	{
		Event: EventPreToolUse, Input: reflect.TypeFor[PreToolUseInput](), Output: reflect.TypeFor[PreToolUseOutput](),
		Subject: SubjectTool, Effect: "deny, allow, ask, defer, new input, context",
		Gate: true, Waits: true, Closed: "the tool does not run", refuse: denyTool, Since: "1.0.85",
	},
	{
		Event: EventPostToolUse, Input: reflect.TypeFor[PostToolUseInput](), Output: reflect.TypeFor[PostToolUseOutput](),
		Subject: SubjectTool, Effect: "block = feedback, new output, context",
		Closed: "the model is told that the hook failed", refuse: block, Since: "1.0.85",
	},
	{
		Event: EventPostToolUseFailure, Input: reflect.TypeFor[PostToolUseFailureInput](), Output: reflect.TypeFor[ContextOutput](),
		Subject: SubjectTool, Effect: "context",
		refuse: inform, Since: "2.0.77", Before: "2.0.0",
	},
	{
		Event: EventPostToolBatch, Input: reflect.TypeFor[PostToolBatchInput](), Output: reflect.TypeFor[ContextOutput](),
		Effect: "block = end the turn, context",
		Closed: "the turn ends", refuse: block, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventPermissionRequest, Input: reflect.TypeFor[PermissionRequestInput](), Output: reflect.TypeFor[PermissionRequestOutput](),
		Subject: SubjectTool, Effect: "decide",
		Gate: true, Closed: "the tool does not run", refuse: denyRequest, Since: "2.0.77", Before: "2.0.0",
	},
	{
		Event: EventPermissionDenied, Input: reflect.TypeFor[PermissionDeniedInput](), Output: reflect.TypeFor[PermissionDeniedOutput](),
		Subject: SubjectTool, Effect: "retry",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventElicitation, Input: reflect.TypeFor[ElicitationInput](), Output: reflect.TypeFor[ElicitationOutput](),
		Subject: "server", Effect: "decline",
		Closed: "the server is told \"decline\"", refuse: decline, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventElicitationResult, Input: reflect.TypeFor[ElicitationResultInput](), Output: reflect.TypeFor[ElicitationOutput](),
		Subject: "server", Effect: "decline",
		Closed: "the server is told \"decline\"", refuse: decline, Since: "2.1.299", Before: "2.1.0",
	},

	{
		Event: EventUserPromptSubmit, Input: reflect.TypeFor[UserPromptSubmitInput](), Output: reflect.TypeFor[PromptOutput](),
		Effect: "block, context, title",
		Gate:   true, Waits: true, Closed: "the model does not get the prompt", refuse: block, Since: "1.0.85",
	},
	{
		Event: EventUserPromptExpansion, Input: reflect.TypeFor[UserPromptExpansionInput](), Output: reflect.TypeFor[PromptOutput](),
		Subject: "command", Effect: "block, context",
		Closed: "the model does not get the prompt", refuse: block, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventMessageDisplay, Input: reflect.TypeFor[MessageDisplayInput](), Output: reflect.TypeFor[DisplayOutput](),
		Effect: "other text",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventNotification, Input: reflect.TypeFor[NotificationInput](), Output: reflect.TypeFor[ContextOutput](),
		Subject: "type", Effect: "context",
		refuse: inform, Since: "1.0.85",
	},
	{
		Event: EventStop, Input: reflect.TypeFor[StopInput](), Output: reflect.TypeFor[StopOutput](),
		Effect: "block = continue, context",
		Closed: "the model continues", refuse: block, Since: "1.0.85",
	},
	{
		Event: EventStopFailure, Input: reflect.TypeFor[StopFailureInput](),
		Subject: "error",
		refuse:  inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventSubagentStart, Input: reflect.TypeFor[SubagentStartInput](), Output: reflect.TypeFor[ContextOutput](),
		Subject: "agent type", Effect: "context",
		refuse: inform, Since: "2.0.77", Before: "2.0.0",
	},
	{
		Event: EventSubagentStop, Input: reflect.TypeFor[SubagentStopInput](), Output: reflect.TypeFor[StopOutput](),
		Subject: "agent type", Effect: "block = continue, context",
		Closed: "the model continues", refuse: block, Since: "1.0.85",
	},
	{
		Event: EventTeammateIdle, Input: reflect.TypeFor[TeammateIdleInput](), Output: reflect.TypeFor[GateOutput](),
		Effect: "block",
		Closed: "the teammate stays at work", refuse: block, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventTaskCreated, Input: reflect.TypeFor[TaskInput](), Output: reflect.TypeFor[GateOutput](),
		Effect: "block",
		Closed: "the task is not created", refuse: block, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventTaskCompleted, Input: reflect.TypeFor[TaskInput](), Output: reflect.TypeFor[GateOutput](),
		Effect: "block",
		Closed: "the task stays open", refuse: block, Since: "2.1.299", Before: "2.1.0",
	},

	{
		Event: EventSetup, Input: reflect.TypeFor[SetupInput](), Output: reflect.TypeFor[ContextOutput](),
		Subject: "trigger", Effect: "context",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventSessionStart, Input: reflect.TypeFor[SessionStartInput](), Output: reflect.TypeFor[SessionStartOutput](),
		Subject: "source", Effect: "context, first prompt, title, watch",
		refuse: inform, Since: "1.0.85",
	},
	{
		Event: EventSessionEnd, Input: reflect.TypeFor[SessionEndInput](),
		Subject: "reason",
		refuse:  inform, Since: "1.0.85",
	},
	{
		Event: EventPreCompact, Input: reflect.TypeFor[PreCompactInput](), Output: reflect.TypeFor[GateOutput](),
		Subject: "trigger", Effect: "block",
		Closed: "the conversation is not compacted", refuse: block, Since: "1.0.85",
	},
	{
		Event: EventPostCompact, Input: reflect.TypeFor[PostCompactInput](),
		Subject: "trigger",
		refuse:  inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventPreModelSwitch, Input: reflect.TypeFor[ModelSwitchInput](), Output: reflect.TypeFor[ModelSwitchOutput](),
		Subject: "model", Effect: "deny, allow, ask",
		Closed: "the model stays", refuse: denySwitch, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventPostModelSwitch, Input: reflect.TypeFor[ModelSwitchInput](), Output: reflect.TypeFor[ContextOutput](),
		Subject: "model", Effect: "context",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventConfigChange, Input: reflect.TypeFor[ConfigChangeInput](), Output: reflect.TypeFor[GateOutput](),
		Subject: "source", Effect: "block",
		Closed: "the old settings stay", refuse: block, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventInstructionsLoaded, Input: reflect.TypeFor[InstructionsLoadedInput](),
		Subject: "reason",
		refuse:  inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventCwdChanged, Input: reflect.TypeFor[CwdChangedInput](), Output: reflect.TypeFor[WatchOutput](),
		Effect: "watch",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventFileChanged, Input: reflect.TypeFor[FileChangedInput](), Output: reflect.TypeFor[WatchOutput](),
		Subject: "file name", Effect: "watch",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventDirectoryAdded, Input: reflect.TypeFor[DirectoryAddedInput](),
		Subject: "source",
		refuse:  inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventWorktreeCreate, Input: reflect.TypeFor[WorktreeCreateInput](), Output: reflect.TypeFor[WorktreeOutput](),
		Effect: "the path",
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
	{
		Event: EventWorktreeRemove, Input: reflect.TypeFor[WorktreeRemoveInput](),
		refuse: inform, Since: "2.1.299", Before: "2.1.0",
	},
}
