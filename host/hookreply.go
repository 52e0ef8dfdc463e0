package host

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// hookReply is the answer of one callback, checked as the CLI checks it.
type hookReply struct {
	id    string
	block bool // the registration wants failures to block

	silent  bool // no answer in time
	invalid bool // no answer that can be read
	foreign bool // an answer about another event

	common   hookCommon
	specific hookSpecific
}

type hookCommon struct {
	Continue      *bool           `json:"continue"`
	StopReason    string          `json:"stopReason"`
	Decision      string          `json:"decision"`
	Reason        string          `json:"reason"`
	SystemMessage string          `json:"systemMessage"`
	Async         bool            `json:"async"`
	Specific      json.RawMessage `json:"hookSpecificOutput"`
}

type hookSpecific struct {
	Event         string                  `json:"hookEventName"`
	Decision      hook.PermissionDecision `json:"permissionDecision"`
	Reason        string                  `json:"permissionDecisionReason"`
	UpdatedInput  json.RawMessage         `json:"updatedInput"`
	Context       string                  `json:"additionalContext"`
	UpdatedOutput json.RawMessage         `json:"updatedToolOutput"`
	UpdatedMCP    json.RawMessage         `json:"updatedMCPToolOutput"`
	Permission    json.RawMessage         `json:"decision"`
}

// read checks an answer. A part for the event that does not name it, and a
// decision that does not exist, make the whole answer invalid: it is lost, and
// a denial with it. A part that names another event fails the event.
func (r *hookReply) read(event hook.Event, payload json.RawMessage) {
	if len(payload) == 0 {
		return // a reply without a payload is an empty answer
	}
	if payload[0] != '{' || jsonx.Unmarshal(payload, &r.common) != nil {
		r.common, r.invalid = hookCommon{}, true
		return
	}
	switch r.common.Decision {
	case "", "block", "approve":
	default:
		r.invalid = true
	}
	if len(r.common.Specific) > 0 {
		err := jsonx.Unmarshal(r.common.Specific, &r.specific)
		r.invalid = r.invalid || err != nil || r.specific.Event == ""
	}
	switch r.specific.Decision {
	case "", hook.PermissionAllow, hook.PermissionDeny, hook.PermissionAsk, hook.PermissionDefer:
	default:
		r.invalid = true
	}
	r.foreign = !r.invalid && r.specific.Event != "" && r.specific.Event != string(event)
}

// waits reports whether the event does not continue when a callback is silent.
func waits(event hook.Event) bool {
	info, _ := event.Info()
	return info.Waits
}

// merge adds the answer to what the hooks say together.
func (r *hookReply) merge(event hook.Event, out *HookOutcome) {
	switch {
	case r.foreign:
		out.closed = string(event) + " hook failed: its answer names another event. Nothing was done."
		return
	case r.silent && waits(event):
		out.closed = string(event) + " hook did not answer in time. Nothing was done."
		return
	case r.silent:
		out.notices = append(out.notices, notice(event, "the client did not answer; the session continued without it.", message.LevelNotice))
		return
	case r.invalid:
		what := "treated as empty."
		if r.block && waits(event) {
			out.closed = string(event) + " hook failed, and its registration wants that to block."
			out.denied = true
			what = "which blocks, as its registration wants."
		}
		n := notice(event, "hook callback "+r.id+" failed: an error or an invalid answer, "+what, message.LevelWarning)
		n.Tag = "hook_callback_failed"
		out.notices = append(out.notices, n)
		return
	case r.common.Async:
		return
	}
	r.mergeCommon(event, out)
	r.mergeSpecific(out)
}

func (r *hookReply) mergeCommon(event hook.Event, out *HookOutcome) {
	c := &r.common
	if c.SystemMessage != "" {
		out.notices = append(out.notices, notice(event, c.SystemMessage, message.LevelNotice))
	}
	if c.Continue != nil && !*c.Continue && !out.Stopped {
		out.Stopped, out.StopReason = true, c.StopReason
	}
	switch c.Decision {
	case "block":
		if !out.Blocked {
			out.Blocked, out.Reason = true, c.Reason
		}
	case "approve":
		out.decide(hook.PermissionAllow, c.Reason)
	}
}

func (r *hookReply) mergeSpecific(out *HookOutcome) {
	f := &r.specific
	out.decide(f.Decision, f.Reason)
	if len(f.UpdatedInput) > 0 && f.UpdatedInput[0] == '{' {
		out.UpdatedInput = f.UpdatedInput
	}
	if len(f.UpdatedOutput) > 0 {
		out.UpdatedOutput = f.UpdatedOutput
	} else if len(f.UpdatedMCP) > 0 {
		out.UpdatedOutput = f.UpdatedMCP
	}
	if f.Context != "" {
		out.Context = append(out.Context, f.Context)
	}
	if len(f.Permission) > 0 {
		var d permission.Decision
		// A decision that cannot be read counts as no opinion.
		if jsonx.Unmarshal(f.Permission, &d) == nil && (out.Permission.Behavior() == "" || d.Behavior() == permission.BehaviorDeny) {
			out.Permission = d
		}
	}
}

// decide keeps the stricter of two decisions.
func (o *HookOutcome) decide(d hook.PermissionDecision, reason string) {
	rank := map[hook.PermissionDecision]int{
		hook.PermissionAllow: 1, hook.PermissionAsk: 2, hook.PermissionDefer: 3, hook.PermissionDeny: 4,
	}
	if rank[d] > rank[o.Decision] {
		o.Decision, o.DecisionReason = d, reason
	}
}

func notice(event hook.Event, text string, level message.Level) *message.Informational {
	return &message.Informational{Content: string(event) + " says: " + text, Level: level}
}
