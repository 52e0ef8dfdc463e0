package api

// Command is a slash command that the agent of a conversation understands, such as
// "/review": send it as the text of a prompt.
type Command struct {
	Name        string   `json:"name"`                   // without the slash
	Description string   `json:"description,omitzero"`   // what it does
	Hint        string   `json:"argument_hint,omitzero"` // what may follow the name
	Aliases     []string `json:"aliases,omitempty"`      // other names
	Builtin     bool     `json:"builtin,omitzero"`       // whether it is part of the agent
}
