package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Elicit asks the user something on behalf of an MCP server. The client's
// Elicitation hooks are called first: if one objects, the question is declined
// and the client is not asked. ElicitationResult hooks see the answer and may
// also object. As in the CLI, hooks cannot give any other answer. If the
// client answers with an error or with something else, it declines.
func (t *Turn) Elicit(ctx context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
	if e.Mode == "" {
		form := *e
		form.Mode = control.ElicitationForm
		e = &form
	}
	out, err := t.Fire(ctx, hook.EventElicitation, e.ServerName, e)
	if err != nil {
		return control.ElicitationAnswer{}, t.cutOr(ctx, err)
	}
	if out.Blocked {
		return control.Decline(), nil
	}
	payload, err := t.s.call(ctx, peer.Call{Subtype: "elicitation", Payload: e, AwaitCancelNotice: true})
	if ctx.Err() != nil {
		return control.ElicitationAnswer{}, t.cutOr(ctx, err)
	}
	answer := control.Decline()
	if err == nil {
		var a control.ElicitationAnswer
		if jsonx.Unmarshal(payload, &a) == nil && a.Action != "" {
			answer = a
		}
	}
	return t.elicited(ctx, e, answer)
}

// elicited lets the ElicitationResult hooks look at an answer.
func (t *Turn) elicited(ctx context.Context, e *control.Elicitation, a control.ElicitationAnswer) (control.ElicitationAnswer, error) {
	out, err := t.Fire(ctx, hook.EventElicitationResult, e.ServerName, struct {
		Server  string                    `json:"mcp_server_name"`
		Mode    control.ElicitationMode   `json:"mode,omitzero"`
		Action  control.ElicitationAction `json:"action"`
		Content any                       `json:"content,omitzero"`
	}{e.ServerName, e.Mode, a.Action, a.Content})
	if err != nil {
		return control.ElicitationAnswer{}, t.cutOr(ctx, err)
	}
	if out.Blocked {
		return control.Decline(), nil
	}
	return a, nil
}

// ShowDialog shows the user a dialog of a kind that the client has announced. If
// the client answers with an error or with something else, the dialog is
// cancelled.
func (t *Turn) ShowDialog(ctx context.Context, d *control.Dialog) (control.DialogAnswer, error) {
	payload, err := t.s.call(ctx, peer.Call{Subtype: "request_user_dialog", Payload: d, AwaitCancelNotice: true})
	if ctx.Err() != nil {
		return control.DialogAnswer{}, t.cutOr(ctx, err)
	}
	var a control.DialogAnswer
	if err != nil || jsonx.Unmarshal(payload, &a) != nil {
		return control.CancelDialog(), nil
	}
	return a, nil
}

// Ask asks the client for permission, and its PermissionRequest hooks at the
// same time: the first answer counts, and the other question is withdrawn. An
// answer that is not a decision denies. The error means that there was no
// answer, or that the client answered with an error, whatever its hooks would
// say.
func (t *Turn) Ask(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	t.s.state(message.ActivityRequiresAction)
	defer t.s.state(message.ActivityRunning)
	type answer struct {
		d     permission.Decision
		err   error
		final bool // of the client itself: also its error counts
	}
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	answers := make(chan answer, 2)
	waiting := 0
	asked := make(chan struct{})
	if t.s.opts.PromptTool {
		waiting++
		go func() {
			told := sync.OnceFunc(func() { close(asked) })
			defer told()
			d, err := t.canUseTool(ctx, req, told)
			answers <- answer{d, err, true}
		}()
	} else {
		close(asked)
	}
	if t.s.hooks.listens(hook.EventPermissionRequest, req.ToolName) {
		waiting++
		go func() {
			select { // the client sees the question first
			case <-asked:
			case <-ctx.Done():
			}
			d, err := t.askHooks(ctx, req)
			answers <- answer{d: d, err: err}
		}()
	}
	last := answer{d: permission.Deny("Nobody could be asked for permission.")}
	for range waiting {
		a := <-answers
		switch {
		case a.final:
			return a.d, a.err
		case a.err == nil && a.d.Behavior() != "":
			if t.s.opts.PromptTool { // the turn continues when the client knows
				withdraw()
				<-answers
			}
			return a.d, nil
		}
		if a.err != nil {
			last = a
		}
	}
	return last.d, last.err
}

// askHooks asks the PermissionRequest hooks; Pass if they have no opinion.
func (t *Turn) askHooks(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	out, err := t.fireAndEmit(ctx, hookCall{
		event: hook.EventPermissionRequest, subject: req.ToolName, toolUseID: req.ToolUseID,
		extra: struct {
			ToolName    string              `json:"tool_name"`
			ToolInput   json.RawMessage     `json:"tool_input"`
			Suggestions []permission.Update `json:"permission_suggestions,omitzero"`
		}{req.ToolName, req.Input, req.Suggestions},
	})
	return out.Permission, err
}

// canUseTool asks the client. It waits as long as the turn lasts: a person may
// have to answer.
func (t *Turn) canUseTool(ctx context.Context, req *permission.Request, written func()) (permission.Decision, error) {
	payload, err := t.s.call(ctx, peer.Call{Subtype: "can_use_tool", Payload: req, OnWritten: written, AwaitCancelNotice: true})
	if refused, ok := errors.AsType[*peer.RefusedError](err); ok {
		return permission.Decision{}, refused.Reply
	}
	if err != nil {
		return permission.Decision{}, err
	}
	return readDecision(payload), nil
}

// Fire calls the client's hooks for an event and passes their messages on to the
// client. Matchers are compared with the subject, which is the tool's name for
// tool events; without a subject, matchers are ignored. The input encodes as an
// object with the members that the event adds to those of all events.
//
// Blocked is set if a hook did not answer in time at an event where the CLI
// does not continue without it, or if its answer is about another event.
func (t *Turn) Fire(ctx context.Context, event hook.Event, subject string, input any) (HookOutcome, error) {
	out, err := t.fireAndEmit(ctx, hookCall{event: event, subject: subject, extra: input})
	if out.closed != "" {
		out.Blocked, out.Reason = true, out.closed
	}
	return out, err
}

func (t *Turn) fireAndEmit(ctx context.Context, c hookCall) (HookOutcome, error) {
	out, err := t.fire(ctx, c)
	for _, n := range out.notices {
		_ = t.s.emit(n)
	}
	return out, err
}

func (t *Turn) fire(ctx context.Context, c hookCall) (HookOutcome, error) {
	base := hook.Base{
		SessionID: t.s.id, Cwd: t.s.opts.Cwd, PromptID: t.id,
		PermissionMode: t.s.rights.current(), HookEventName: c.event,
		AgentID: t.Subagent().ID, AgentType: t.Subagent().Type,
	}
	if t.repeating.Load() {
		base.PromptID = ""
	}
	if c.event == hook.EventSubagentStart {
		base.PermissionMode = "" // the CLI does not say it here
	}
	return t.s.hooks.fire(ctx, base, c)
}

// CallMCP sends a request to an MCP server in the client and returns its result.
func (t *Turn) CallMCP(ctx context.Context, name, method string, params any) (json.RawMessage, error) {
	sv := t.s.servers.find(name)
	if sv == nil {
		return nil, fmt.Errorf("host: the client has no MCP server %q", name)
	}
	return sv.request(ctx, t.s, method, params)
}

// MCPTools returns the tools of the MCP servers in the client, by the names
// that [Turn.UseTool] accepts.
func (t *Turn) MCPTools() []string { return t.s.servers.tools() }
