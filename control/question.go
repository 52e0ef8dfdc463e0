package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// ElicitationFunc answers a question from an MCP server. It may be called
// several times at once. Its context ends when the question is withdrawn and
// when the session closes. An error declines.
type ElicitationFunc func(ctx context.Context, e *Elicitation) (ElicitationAnswer, error)

// Elicitation is a question from an MCP server to the user: a form to fill in
// or an address to visit.
type Elicitation struct {
	// RequestID is the id of the control request. The session sets it.
	RequestID string `json:"-"`
	// ServerName is the MCP server that asks.
	ServerName string `json:"mcp_server_name"`
	// Message is the question.
	Message string `json:"message"`
	// Mode distinguishes a form from an address.
	Mode ElicitationMode `json:"mode,omitzero"`
	// URL is the address to visit in mode [ElicitationURL].
	URL string `json:"url,omitzero"`
	// ElicitationID is the server's name for the question in mode [ElicitationURL].
	ElicitationID string `json:"elicitation_id,omitzero"`
	// RequestedSchema is the JSON Schema of the form.
	RequestedSchema json.RawMessage `json:"requested_schema,omitzero"`
	// PropertyOrder is the order of the form's fields.
	PropertyOrder []string        `json:"property_order,omitzero"`
	Title         string          `json:"title,omitzero"`
	DisplayName   string          `json:"display_name,omitzero"`
	Description   string          `json:"description,omitzero"`
	Raw           json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (e *Elicitation) UnmarshalJSON(data []byte) (err error) {
	type fields Elicitation
	*e = Elicitation{RequestID: e.RequestID}
	e.Raw, err = soft(data, (*fields)(e))
	return err
}

// ElicitationMode is how an MCP server asks.
type ElicitationMode string

// The modes.
const (
	ElicitationForm ElicitationMode = "form"
	ElicitationURL  ElicitationMode = "url"
)

// ElicitationAction is the user's response to a question.
type ElicitationAction string

// The actions.
const (
	ElicitationAccept  ElicitationAction = "accept"
	ElicitationDecline ElicitationAction = "decline"
	ElicitationCancel  ElicitationAction = "cancel"
)

// ElicitationAnswer is the answer to an [Elicitation]. The zero value
// declines. Content is encoded by the rules of encoding/json.
type ElicitationAnswer struct {
	Action  ElicitationAction
	Content any
}

// Accept answers with the fields of the form. For an address that was visited,
// content is nil.
func Accept(content any) ElicitationAnswer {
	return ElicitationAnswer{Action: ElicitationAccept, Content: content}
}

// Decline refuses to answer.
func Decline() ElicitationAnswer { return ElicitationAnswer{Action: ElicitationDecline} }

// Cancel closes the question without an answer.
func Cancel() ElicitationAnswer { return ElicitationAnswer{Action: ElicitationCancel} }

type elicitationFields struct {
	Action  ElicitationAction `json:"action"`
	Content json.RawMessage   `json:"content,omitzero"`
}

// MarshalJSON encodes the answer in the CLI's form. Only an accepted question
// carries content.
func (a ElicitationAnswer) MarshalJSON() ([]byte, error) {
	f := elicitationFields{Action: a.Action}
	if f.Action == "" {
		f.Action = ElicitationDecline
	}
	if f.Action == ElicitationAccept && a.Content != nil {
		content, err := jsonx.MarshalUser(a.Content)
		if err != nil {
			return nil, fmt.Errorf("control: elicitation: %w", err)
		}
		f.Content = content
	}
	return jsonx.Marshal(f)
}

// UnmarshalJSON decodes an answer; Content becomes a [json.RawMessage].
func (a *ElicitationAnswer) UnmarshalJSON(data []byte) error {
	var f elicitationFields
	if _, err := soft(data, &f); err != nil {
		return err
	}
	*a = ElicitationAnswer{Action: f.Action}
	if f.Content != nil {
		a.Content = f.Content
	}
	return nil
}

// DialogFunc shows a dialog of the CLI. It may be called several times at
// once. Its context ends when the dialog is withdrawn and when the session
// closes. An error cancels the dialog.
type DialogFunc func(ctx context.Context, d *Dialog) (DialogAnswer, error)

// Dialog is a question from the CLI itself, of a kind that the session
// announced it can show.
type Dialog struct {
	// RequestID is the id of the control request. The session sets it.
	RequestID string `json:"-"`
	// Kind determines what Payload holds.
	Kind    string          `json:"dialog_kind"`
	Payload json.RawMessage `json:"payload,omitzero"`
	// ToolUseID is the tool call the dialog belongs to, if any.
	ToolUseID string          `json:"tool_use_id,omitzero"`
	Raw       json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (d *Dialog) UnmarshalJSON(data []byte) (err error) {
	type fields Dialog
	*d = Dialog{RequestID: d.RequestID}
	d.Raw, err = soft(data, (*fields)(d))
	return err
}

// DialogAnswer is the answer to a [Dialog]. The zero value cancels it. Result
// is encoded by the rules of encoding/json.
type DialogAnswer struct {
	Completed bool
	Result    any
}

// CompleteDialog answers with a result; its shape depends on the kind of
// dialog.
func CompleteDialog(result any) DialogAnswer {
	return DialogAnswer{Completed: true, Result: result}
}

// CancelDialog closes the dialog without a result.
func CancelDialog() DialogAnswer { return DialogAnswer{} }

type dialogFields struct {
	Behavior string          `json:"behavior"`
	Result   json.RawMessage `json:"result,omitzero"`
}

// MarshalJSON encodes the answer in the CLI's form.
func (a DialogAnswer) MarshalJSON() ([]byte, error) {
	if !a.Completed {
		return jsonx.Marshal(dialogFields{Behavior: "cancelled"})
	}
	result, err := jsonx.MarshalUser(a.Result)
	if err != nil {
		return nil, fmt.Errorf("control: dialog: %w", err)
	}
	return jsonx.Marshal(dialogFields{Behavior: "completed", Result: result})
}

// UnmarshalJSON decodes an answer; Result becomes a [json.RawMessage].
func (a *DialogAnswer) UnmarshalJSON(data []byte) error {
	var f dialogFields
	if _, err := soft(data, &f); err != nil {
		return err
	}
	*a = DialogAnswer{Completed: f.Behavior == "completed"}
	if a.Completed && f.Result != nil {
		a.Result = f.Result
	}
	return nil
}
