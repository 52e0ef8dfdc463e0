package claude

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/matcher"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/permission"
)

// The CLI asks for permission after its PreToolUse hooks, and runs the tool with the
// input that the permission callback or a PermissionRequest hook gives it. It does
// not ask the hooks again. So the session asks the guards about such an input before
// it sends it.

// judgedCall holds enough to ask the guards of a call again.
type judgedCall struct {
	input        json.RawMessage // of the hooks, without that of the tool
	guards       []hook.Hook
	severalForms bool // a guard saw it as a call of another tool
}

// judgedKept is how many calls are kept. The permission request follows the
// hooks at once.
const judgedKept = 1024

// judgedCalls are the last calls that guards have judged. The zero value is ready.
type judgedCalls struct {
	mu    sync.Mutex
	calls map[string]judgedCall // by tool use
	order []string
}

func (j *judgedCalls) put(toolUse string, call judgedCall) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.calls == nil {
		j.calls = make(map[string]judgedCall)
	}
	if old, again := j.calls[toolUse]; !again {
		j.order = append(j.order, toolUse)
	} else if len(old.guards)+len(call.guards) > 0 {
		// An id that comes twice may name two calls: which of them has its input changed
		// is unknown.
		call.guards = slices.Concat(old.guards, call.guards)
		call.severalForms = true
	}
	j.calls[toolUse] = call
	if len(j.order) > judgedKept {
		delete(j.calls, j.order[0])
		j.order = slices.Delete(j.order, 0, 1)
	}
}

func (j *judgedCalls) get(toolUse string) (judgedCall, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	call, ok := j.calls[toolUse]
	return call, ok
}

// remember records who judges a call whose input may change later.
func (c *chainCall) remember() {
	ch := c.by.plan.chain
	if !ch.again || c.body.ToolUseID == "" {
		return
	}
	call := judgedCall{severalForms: c.severalForms()}
	for i := range ch.links {
		if l := &ch.links[i]; l.hook.Stage == hook.StageGuard && c.fits(l) {
			call.guards = append(call.guards, l.hook)
		}
	}
	if len(call.guards) > 0 {
		call.input, _ = withMember(c.body.Input, "tool_input", json.RawMessage("null")) // it was read before
	}
	c.by.judged.put(c.body.ToolUseID, call)
}

// change is an input that changed after the guards judged the call.
type change struct {
	tool, toolUse string
	input         json.RawMessage
}

// judgedOr returns the call as it was judged. If that is not known, every guard whose
// matcher may fit judges it.
func (r *callbacks) judgedOr(ch change) judgedCall {
	if call, ok := r.judged.get(ch.toolUse); ok {
		return call
	}
	var call judgedCall
	for _, l := range r.plan.chain.links {
		if fits, err := matcher.Compile(l.hook.Matcher); l.hook.Stage == hook.StageGuard && (err != nil || fits(ch.tool)) {
			call.guards = append(call.guards, l.hook)
		}
	}
	base := hook.Base{SessionID: r.sessionID(), Cwd: r.opts.Cwd, HookEventName: hook.EventPreToolUse}
	call.input, _ = jsonx.Marshal(struct { // texts always encode
		hook.Base
		Tool    string `json:"tool_name"`
		ToolUse string `json:"tool_use_id"`
	}{base, ch.tool, ch.toolUse})
	return call
}

// objection asks guards about an input that changed after they judged the call. It
// returns a denial, or the zero Decision.
func (r *callbacks) objection(ctx context.Context, in *peer.Incoming, ch change) (permission.Decision, error) {
	call := r.judgedOr(ch)
	if len(call.guards) == 0 {
		return permission.Decision{}, nil
	}
	if call.severalForms {
		return permission.Deny("The input of this call was changed, and a guard sees it as a call of another tool."), nil
	}
	if err := jsonx.Unambiguous(ch.input); err != nil {
		return permission.Decision{}, err
	}
	input, err := withMember(call.input, "tool_input", ch.input)
	if err != nil {
		return permission.Decision{}, err
	}
	for _, h := range call.guards {
		a := r.askHook(ctx, in, string(hook.EventPreToolUse), ch.toolUse, h, input)
		switch {
		case ctx.Err() != nil:
			return permission.Decision{}, context.Cause(ctx)
		case a.stopped:
			return permission.DenyAndStop(joined(a.reason, a.stopReason)), nil
		case a.decision == hook.PermissionDeny, a.decision == hook.PermissionDefer:
			return permission.Deny(a.reason), nil
		case a.input != nil && !sameJSON(a.input, ch.input):
			return permission.Deny("A guard has changed the input of this call when it was decided already."), nil
		}
	}
	return permission.Decision{}, nil
}

// changes reports whether guards have to look at the input in an answer. The CLI takes
// an empty input for the one it had; TestRealEmptyInputIsTheOneItHad measures that for
// a PermissionRequest hook. The permission callback cannot give an empty one.
func (r *callbacks) changes(updated, had json.RawMessage) bool {
	return r.plan.chain != nil && r.plan.chain.again && jsonx.Present(updated) && !sameJSON(updated, json.RawMessage("{}")) && !sameJSON(updated, had)
}

// guarded returns the answer of the permission callback, unless guards object to
// the input in it.
func (c *permissionCall) guarded(ctx context.Context, reply json.RawMessage) (json.RawMessage, error) {
	updated := jsonx.Member(reply, "updatedInput")
	if !c.by.changes(updated, c.req.Input) {
		return reply, nil
	}
	no, err := c.by.objection(ctx, c.in, change{c.req.ToolName, c.req.ToolUseID, updated})
	if err != nil {
		return nil, err
	}
	if no.Behavior() == permission.BehaviorDeny {
		return no.Reply(&c.req)
	}
	return reply, nil
}

// guarded returns the answer of a PermissionRequest hook, unless guards object to the
// input in it.
func (c *hookCall) guarded(ctx context.Context, reply json.RawMessage) (json.RawMessage, error) {
	updated := jsonx.Member(jsonx.Member(jsonx.Member(reply, "hookSpecificOutput"), "decision"), "updatedInput")
	if !c.by.changes(updated, jsonx.Member(c.body.Input, "tool_input")) {
		return reply, nil
	}
	tool := jsonx.Text(jsonx.Member(c.body.Input, "tool_name"))
	no, err := c.by.objection(ctx, c.in, change{tool, c.body.ToolUseID, updated})
	if err != nil {
		return nil, err
	}
	if no.Behavior() == permission.BehaviorDeny {
		type specific struct {
			Event    hook.Event          `json:"hookEventName"`
			Decision permission.Decision `json:"decision"`
		}
		return jsonx.Marshal(struct {
			Specific specific `json:"hookSpecificOutput"`
		}{specific{hook.EventPermissionRequest, no}})
	}
	return reply, nil
}
