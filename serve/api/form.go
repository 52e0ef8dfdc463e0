package api

import "encoding/json"

// Form is a form that an MCP server wants filled in: fields, or an address to
// visit.
type Form struct {
	// Server is the MCP server that asks, and reads the answer.
	Server string `json:"server"`
	// URL is the address to visit. A form with one has no fields, and an answer has
	// no input.
	URL string `json:"url,omitzero"`
	// Fields are the members of the input of an answer.
	Fields []FormField `json:"fields"`
}

// FieldKind is the kind of value in a field of a form.
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
	Name        string `json:"name"`                 // its name in the input of an answer
	Title       string `json:"title"`                // its label
	Description string `json:"description,omitzero"` // an explanation
	// Kind is the kind of value: choice is one of the options, choices a list of
	// them.
	Kind FieldKind `json:"kind" enum:"text,number,integer,boolean,choice,choices"`
	// Format restricts a text: email, uri, date or date-time.
	Format   string          `json:"format,omitzero"`
	Required bool            `json:"required"`          // whether an answer must have it
	Default  json.RawMessage `json:"default,omitzero"`  // the value to begin with
	Options  []FormOption    `json:"options,omitempty"` // what to choose from
}

// FormOption is something to choose.
type FormOption struct {
	Value string `json:"value"` // its value in an answer
	Title string `json:"title"` // its label
}
