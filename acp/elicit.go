package acp

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// elicits reports whether an editor shows forms.
func elicits(e *editor) bool {
	can := e.Capabilities().Elicitation
	return can != nil && can.Form != nil
}

// visits reports whether an editor sends its person to an address.
func visits(e *editor) bool {
	can := e.Capabilities().Elicitation
	return can != nil && can.URL != nil
}

// formOf reads the form of an MCP server. Its fields stay in the server's order, which a map
// would lose.
func formOf(data []byte) (form schema.ElicitationSchema, err error) {
	if err := jsonx.Unmarshal(data, &form); err != nil {
		return form, err
	}
	if fields := jsonx.Member(data, "properties"); jsonx.Present(fields) {
		if form.Extra == nil {
			form.Extra = make(map[string]json.RawMessage)
		}
		form.Properties, form.Extra["properties"] = nil, fields
	}
	return form, nil
}

// elicit puts the question of an MCP server before the person. "Decline" means that the
// person refused; a question that the person has not seen is cancelled.
func (a asker) elicit(ctx context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
	req := &schema.CreateElicitationRequest{Mode: "form", SessionID: a.session, Message: e.Message}
	switch {
	case e.Mode == control.ElicitationURL:
		if !visits(a.editor) || e.URL == "" {
			return control.Cancel(), nil
		}
		req.Mode, req.URL, req.ElicitationID = "url", &e.URL, schema.ElicitationID(e.ElicitationID)
		if req.ElicitationID == "" {
			req.ElicitationID = schema.ElicitationID(uuid.New()) // the protocol wants one
		}
	case !elicits(a.editor):
		return control.Cancel(), nil
	default:
		var err error
		if req.RequestedSchema, err = formOf(e.RequestedSchema); err != nil {
			a.kept.log.Warn("acp: the form of an MCP server cannot be read", "server", e.ServerName, "error", err)
			return control.Cancel(), nil
		}
	}
	resp, err := a.editor.Elicit(ctx, req)
	if err != nil {
		if ctx.Err() == nil {
			a.kept.log.Warn("acp: the editor did not ask for an MCP server", "server", e.ServerName, "error", err)
		}
		return control.Cancel(), nil
	}
	switch resp.Action {
	case "accept":
		if e.Mode == control.ElicitationURL {
			return control.Accept(nil), nil
		}
		return control.Accept(resp.Content), nil
	case "decline":
		return control.Decline(), nil
	}
	return control.Cancel(), nil
}
