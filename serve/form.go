package serve

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/form"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
)

// Form is what an MCP server asks for: fields to fill in, or an address to visit.
type Form struct {
	// Server is the MCP server that asks, and reads the answer.
	Server string `json:"server"`
	// URL is the address to visit. A form with one has no fields, and an answer has
	// no input.
	URL string `json:"url,omitzero"`
	// Fields are what the input of an answer has as members.
	Fields []FormField `json:"fields"`
}

// FieldKind is what is filled into a field of a form.
type FieldKind string

// The kinds of fields.
const (
	FieldText    FieldKind = "text"
	FieldNumber  FieldKind = "number"
	FieldInteger FieldKind = "integer"
	FieldBoolean FieldKind = "boolean"
	FieldChoice  FieldKind = "choice"  // one of the options
	FieldChoices FieldKind = "choices" // a list of options
)

// FormField is a field of a form.
type FormField struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description,omitzero"`
	// Kind says what is filled in: choice is one of the options, choices a list
	// of them.
	Kind FieldKind `json:"kind" enum:"text,number,integer,boolean,choice,choices"`
	// Format says more about a text: email, uri, date or date-time.
	Format   string          `json:"format,omitzero"`
	Required bool            `json:"required"`
	Default  json.RawMessage `json:"default,omitzero"`
	Options  []FormOption    `json:"options,omitempty"`
}

// FormOption is something to choose.
type FormOption struct {
	Value string `json:"value"`
	Title string `json:"title"`
}

// formOf shows what an MCP server asks for, nil if it cannot be read.
func formOf(q *approval.Question) *Form {
	var e control.Elicitation
	if jsonx.Unmarshal(q.Input, &e) != nil {
		return nil
	}
	out := &Form{Server: e.ServerName, Fields: []FormField{}}
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

func fieldOf(f *form.Field) FormField {
	out := FormField{Name: f.Name, Title: f.Title, Description: f.Description, Kind: FieldText, Format: f.Format, Required: f.Required, Default: f.Default}
	if out.Title == "" {
		out.Title = f.Name
	}
	for _, o := range f.Options() {
		out.Options = append(out.Options, FormOption{o.Const, o.Title})
	}
	switch {
	case len(out.Options) > 0 && f.Many():
		out.Kind = FieldChoices
	case len(out.Options) > 0:
		out.Kind = FieldChoice
	case f.Type == "number" || f.Type == "integer" || f.Type == "boolean":
		out.Kind = FieldKind(f.Type)
	}
	return out
}

// checkContent refuses the content of a form that does not fit it.
func checkContent(q *approval.Question, content json.RawMessage) error {
	var e control.Elicitation
	if jsonx.Unmarshal(q.Input, &e) != nil || e.Mode == control.ElicitationURL {
		return nil
	}
	wanted, err := schema.Parse(e.RequestedSchema)
	if err != nil {
		return nil // the server that asks checks it too
	}
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	if err := wanted.Validate(content); err != nil {
		p := badRequest.because("the input does not fit the form; nothing was decided")
		p.Errors = []Fault{{"/input", err.Error()}}
		return p
	}
	return nil
}
