package hook

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
)

// FailurePolicy decides what happens when a hook fails. The zero value leaves
// it to the next level: a hook's policy falls back to the session's, and the
// session's depends on how the hook failed. A hook that returns an error fails
// open. A hook that breaks down (it panics, takes too long, has an output that
// cannot be encoded or an input that cannot be read, or exceeds the number of
// callbacks that may run at once) fails closed if the event is a gate, see
// [Event.Gate], and open otherwise.
type FailurePolicy int

// The policies.
const (
	// FailOpen lets the CLI continue as if the hook had no opinion, however it
	// failed.
	FailOpen FailurePolicy = iota + 1
	// FailClosed blocks the action that the event is about, if the CLI can
	// block it. Seen on CLI 2.1.325, except for TeammateIdle:
	//
	//	event                what a block does
	//	PreToolUse           the tool does not run
	//	PostToolUse          the model is told that the hook failed
	//	PostToolBatch        the turn ends
	//	PermissionRequest    the tool does not run
	//	Elicitation          the server is told "decline"
	//	ElicitationResult    the server is told "decline"
	//	UserPromptSubmit     the model does not get the prompt
	//	UserPromptExpansion  the model does not get the prompt
	//	Stop                 the model continues
	//	SubagentStop         the model continues
	//	TeammateIdle         the teammate stays at work
	//	TaskCreated          the task is not created
	//	TaskCompleted        the task stays open
	//	PreCompact           the conversation is not compacted
	//	PreModelSwitch       the model stays
	//	ConfigChange         the old settings stay
	//
	// The other events only inform: their hooks always fail open. A hook for
	// an event that this package does not know blocks with the common
	// decision.
	//
	// A Stop hook that fails closed should fail only for temporary reasons. A
	// PermissionRequest hook competes with the session's permission callback,
	// and the first answer counts: if a callback may allow, guard with a
	// PreToolUse hook instead.
	FailClosed
)

// FailureReply returns the reply for a call of the hook that failed. The
// session's policy applies if the hook has none of its own; without either,
// the call fails open. The reason reaches the model or the user, so it should
// not contain secrets.
func (h Hook) FailureReply(session FailurePolicy, reason string) json.RawMessage {
	policy := h.OnFailure
	if policy == 0 {
		policy = session
	}
	if policy == FailClosed {
		if reason == "" {
			reason = "The hook failed."
		}
		if out := h.Event.refused(reason); out != nil {
			// Everything in these outputs is text, which always encodes.
			if reply, err := (typedOutput{h.Event, out}).Encode(); err == nil {
				return reply
			}
		}
	}
	return json.RawMessage(`{"continue":true}`)
}

// refusal makes the output that refuses an event. The form differs: with
// "continue":false on PreToolUse, for example, the tool still runs.
type refusal func(reason string) structOutput

// inform is the refusal of an event that only informs: nothing can be refused.
func inform(string) structOutput { return nil }

func block(reason string) structOutput { return &GateOutput{Common: Block(reason)} }

func denyTool(reason string) structOutput { return DenyTool(reason) }

func denySwitch(reason string) structOutput {
	return &ModelSwitchOutput{Decision: PermissionDeny, DecisionReason: reason}
}

func denyRequest(reason string) structOutput { return Decide(permission.Deny(reason)) }

func decline(reason string) structOutput {
	return &ElicitationOutput{Common: Block(reason), Action: control.ElicitationDecline}
}

// refused returns the output that refuses an event, nil for an event that only
// informs. The common decision is the best guess for an event that is not in the
// table: a hook that fails closed is meant to block.
func (e Event) refused(reason string) structOutput {
	if info, known := e.Info(); known && info.refuse != nil {
		return info.refuse(reason)
	}
	return block(reason)
}
