package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// hookCall is a call of one of the user's hooks.
type hookCall struct {
	callback callback // how the session runs it
	by       *callbacks
	in       *peer.Incoming
	hook     hook.Hook
	body     hookBody
	unread   error
	known    bool // the hook is one of the session's
}

func (r *callbacks) hookCallback(in *peer.Incoming) *callback {
	c := &hookCall{by: r, in: in}
	c.unread = c.body.decode(in.Body)
	if c.unread == nil || jsonx.Mismatch(c.unread) { // a mismatch costs a field
		c.unread = errors.Join(c.body.missing(), c.unread)
	}
	if c.unread != nil {
		r.diagnose(in.Body, c.unread)
	}
	if jsonx.Mismatch(c.unread) && !lacks(c.unread) {
		c.unread = nil // what is left can be judged
	}
	if ch := r.plan.chain; ch != nil {
		if ch.id == c.body.CallbackID {
			return r.chainCallback(in, c.body, c.unread)
		}
		if h, ok := ch.matchers[c.body.CallbackID]; ok {
			return r.matcherCallback(in, h, c.unread)
		}
	}
	c.hook, c.known = r.plan.hooks[c.body.CallbackID]
	if !c.known {
		var input struct {
			Event hook.Event `json:"hook_event_name"`
		}
		_ = jsonx.Unmarshal(c.body.Input, &input) // an input that cannot be read names no event
		c.hook = r.opts.strictest(r.opts.Hooks, input.Event)
	}
	c.callback = callback{call: c, name: string(c.hook.Event), timeout: hookTimeout(r.opts, c.hook), toolUse: c.body.ToolUseID}
	if c.hook.Event == hook.EventPermissionRequest {
		c.callback.races = c.body.ToolUseID
	}
	return &c.callback
}

func (c *hookCall) run(ctx context.Context) (json.RawMessage, error) {
	switch {
	case c.unread != nil:
		return nil, unreadable(c.unread)
	case !c.known:
		return nil, fmt.Errorf("%w: %q", errUnknown, c.body.CallbackID)
	}
	out, err := c.hook.Func(ctx, c.body.Input, c.body.ToolUseID)
	if err != nil {
		return nil, &returnedError{err}
	}
	reply, err := hook.Encode(out)
	if err == nil && c.hook.Event == hook.EventPreToolUse {
		err = c.by.rewrites(ctx, reply)
	}
	if err == nil && c.hook.Event == hook.EventPermissionRequest {
		return c.guarded(ctx, reply)
	}
	return reply, err
}

// returnedError marks an error that a hook returned. Such a hook failed in good
// order, and its policy decides what that means. Every other failure is a
// breakdown.
type returnedError struct{ error }

func (e *returnedError) Unwrap() error { return e.error }

func (c *hookCall) fail(err error) json.RawMessage {
	if lacks(err) {
		return nil
	}
	return c.by.hookFailure(c.hook, err)
}

// hookFailure returns the reply for a hook that has failed.
func (r *callbacks) hookFailure(h hook.Hook, err error) json.RawMessage {
	policy := r.opts.HookFailure
	if _, returned := errors.AsType[*returnedError](err); policy == 0 && !returned && h.Event.Gate() {
		policy = hook.FailClosed // no policy was chosen
	}
	return h.FailureReply(policy, "The "+string(h.Event)+" hook failed: "+err.Error())
}

// hookBody is the body of a hook_callback.
type hookBody struct {
	CallbackID string          `json:"callback_id"`
	Input      json.RawMessage `json:"input"`
	ToolUseID  string          `json:"tool_use_id"`
}

// missing names a field that a call cannot do without.
func (b *hookBody) missing() error {
	switch {
	case b.CallbackID == "":
		return &wire.MissingError{Field: "request.callback_id"}
	case !jsonx.Present(b.Input):
		return &wire.MissingError{Field: "request.input"}
	case b.Input[0] != '{':
		return errors.New("its input is not an object")
	}
	return nil
}

// decode reads a body. It refuses one in which a name could mean two things.
func (b *hookBody) decode(raw []byte) error {
	if err := jsonx.CheckNames(hookNames).Check(raw); err != nil {
		return err
	}
	if err := jsonx.Unambiguous(raw); err != nil {
		b.CallbackID = jsonx.Text(jsonx.Member(raw, "callback_id")) // so that the right hook fails
		return err
	}
	return jsonx.Unmarshal(raw, b)
}

var hookNames = []string{"subtype", "callback_id", "input", "tool_use_id"}
