package host

import (
	"context"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
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
