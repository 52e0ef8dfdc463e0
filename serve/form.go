package serve

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/form"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// formOf returns the form of an MCP server's question, nil if it cannot be read.
func formOf(q *approval.Question) *api.Form {
	var e control.Elicitation
	if jsonx.Unmarshal(q.Input, &e) != nil {
		return nil
	}
	out := &api.Form{Server: e.ServerName, Fields: []api.FormField{}}
	if e.Mode == control.ElicitationURL {
		out.URL = e.URL
		return out
	}
	fields, err := form.Fields(e.RequestedSchema, e.PropertyOrder)
	if err != nil {
		return nil
	}
	for i := range fields {
		out.Fields = append(out.Fields, fieldOf(&fields[i]))
	}
	return out
}

func fieldOf(f *form.Field) api.FormField {
	out := api.FormField{Name: f.Name, Title: f.Title, Description: f.Description, Kind: api.FieldText, Format: f.Format, Required: f.Required, Default: f.Default}
	if out.Title == "" {
		out.Title = f.Name
	}
	for _, o := range f.Options() {
		out.Options = append(out.Options, api.FormOption{Value: o.Const, Title: o.Title})
	}
	switch {
	case len(out.Options) > 0 && f.Many():
		out.Kind = api.FieldChoices
	case len(out.Options) > 0:
		out.Kind = api.FieldChoice
	case f.Type == "number" || f.Type == "integer" || f.Type == "boolean":
		out.Kind = api.FieldKind(f.Type)
	}
	return out
}

// checkContent refuses content that does not fit the form of a question.
func checkContent(q *approval.Question, content json.RawMessage) error {
	var e control.Elicitation
	if jsonx.Unmarshal(q.Input, &e) != nil || e.Mode == control.ElicitationURL {
		return nil
	}
	wanted, err := schema.Parse(e.RequestedSchema)
	if err != nil {
		return nil // the MCP server checks it as well
	}
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	if err := wanted.Validate(content); err != nil {
		p := badRequest.because("the input does not fit the form; nothing was decided")
		p.Errors = []api.Fault{{Pointer: "/input", Detail: err.Error()}}
		return p
	}
	return nil
}
