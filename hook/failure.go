package hook

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/permission"
)

// FailurePolicy says what the CLI is told when a hook fails. The zero value
// leaves it to the next level: a hook's to the session's, and the session's to
// how the hook failed. One that returns an error fails open. One that breaks
// down (it panics, takes too long, has an output that cannot be encoded or an
// input that cannot be read, or is one too many at once) fails closed if the
// event is a gate, see [Event.Gate], and open if it is not.
type FailurePolicy int

// The policies.
const (
	// FailOpen lets the CLI go on as if the hook had no opinion, however it
	// failed.
	FailOpen FailurePolicy = iota + 1
	// FailClosed blocks what the event is about, where the CLI can block it.
	// Seen on CLI 2.1.325:
	//
	//	PreToolUse, PermissionRequest     the tool does not run
	//	UserPromptSubmit, -Expansion      the model does not get the prompt
	//	PostToolUse                       the model is told that the hook failed
	//	PostToolBatch                     the turn ends
	//	Stop, SubagentStop                the model goes on
	//	Elicitation, ElicitationResult    the server is told "decline"
	//	PreCompact                        there is no compaction
	//	PreModelSwitch                    the model stays
	//	TaskCreated, TaskCompleted        the task is not created, or stays open
	//	ConfigChange                      the old settings stay
	//
	// TeammateIdle is blocked in the same way, but was not seen. The other
	// events only inform: their hooks fail open in any case.
	//
	// A Stop hook that fails closed should fail only for reasons that pass. A
	// PermissionRequest hook competes with the session's permission callback,
	// and the first answer counts: where a callback allows, guard with a
	// PreToolUse hook instead.
	FailClosed
)

// FailureReply is the reply for a call of the hook that failed. The session's
// policy counts if the hook has none of its own; without either the call fails
// open. The reason reaches the model or the user, so it should hold no secrets.
func (h Hook) FailureReply(session FailurePolicy, reason string) json.RawMessage {
	policy := h.OnFailure
	if policy == 0 {
		policy = session
	}
	if policy == FailClosed {
		if reason == "" {
			reason = "The hook failed."
		}
		if out := blocking(h.Event, reason); out != nil {
			// Everything in these outputs is text, which always encodes.
			if reply, err := (typedOutput{h.Event, out}).Encode(); err == nil {
				return reply
			}
		}
	}
	return json.RawMessage(`{"continue":true}`)
}

// blocking is the output that says no to an event, or nil for an event that
// only informs. The form differs: with "continue":false on PreToolUse, for
// example, the tool still runs.
func blocking(event Event, reason string) parter {
	switch event {
	case EventPreToolUse:
		return DenyTool(reason)
	case EventPreModelSwitch:
		return &ModelSwitchOutput{Decision: PermissionDeny, DecisionReason: reason}
	case EventPermissionRequest:
		return Decide(permission.Deny(reason))
	case EventElicitation, EventElicitationResult:
		return &ElicitationOutput{Common: Block(reason), Action: "decline"}
	case EventPostToolUseFailure, EventPermissionDenied, EventNotification,
		EventMessageDisplay, EventStopFailure, EventSubagentStart, EventSetup,
		EventSessionStart, EventSessionEnd, EventPostCompact, EventPostModelSwitch,
		EventInstructionsLoaded, EventCwdChanged, EventFileChanged,
		EventDirectoryAdded, EventWorktreeCreate, EventWorktreeRemove:
		return nil
	}
	// What is left can be blocked by the common decision. That is also the
	// best guess for an event this package does not know.
	return &GateOutput{Common: Block(reason)}
}
