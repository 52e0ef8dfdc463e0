package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// The CLI rejects a denial without a message and then tells the model about an
// invalid callback instead of a refusal, so a message is always sent.
const (
	defaultDenyMessage = "The tool call was denied."
	passMessage        = "The tool call was denied because nothing decided on it."
)

// Decision is the answer to a [Request]. The zero value is [Pass]. A Decision
// is a value: it can be kept and used for several requests.
type Decision struct {
	behavior  Behavior
	message   string
	interrupt bool
	changed   bool
	input     any
	updates   []Update
}

// Allow lets the tool run with the input it asked for. It also applies the
// updates to the permissions, so that the same question need not be asked
// again.
func Allow(updates ...Update) Decision {
	return Decision{behavior: BehaviorAllow, updates: slices.Clone(updates)}
}

// AllowWith lets the tool run with a different input. The input is encoded by
// the rules of encoding/json and must be a JSON object; a [json.RawMessage] is
// used unchanged. An empty object cannot replace an input that has members,
// because the CLI takes it to mean "unchanged".
func AllowWith(input any, updates ...Update) Decision {
	d := Allow(updates...)
	d.changed, d.input = true, input
	return d
}

// Deny denies the tool call. The model reads the message as the tool's result
// and continues.
func Deny(message string) Decision {
	return Decision{behavior: BehaviorDeny, message: message}
}

// DenyAndStop denies the tool call and interrupts the turn. The model does not
// see the message: the CLI reports an interruption by the user.
func DenyAndStop(message string) Decision {
	return Decision{behavior: BehaviorDeny, message: message, interrupt: true}
}

// Pass has no opinion. It leaves the question to the next function; without
// one, the tool call is denied.
func Pass() Decision { return Decision{} }

// Behavior returns [BehaviorAllow], [BehaviorDeny] or, for [Pass], the empty
// string.
func (d Decision) Behavior() Behavior { return d.behavior }

// Message returns the message of a denial.
func (d Decision) Message() string { return d.message }

// Interrupts reports whether the decision also ends the turn.
func (d Decision) Interrupts() bool { return d.interrupt }

// Input returns the changed input of an allowed call, and whether it was
// changed.
func (d Decision) Input() (input any, changed bool) { return d.input, d.changed }

// Updates returns the permission updates that come with an allowed call.
func (d Decision) Updates() []Update { return slices.Clone(d.updates) }

// Reply builds the answer the CLI expects for req. An allowed call always
// carries its input, byte for byte as it arrived unless it was changed, because
// CLIs differ in what a missing input means. An error means that a changed
// input cannot be sent; the call must then be denied.
func (d Decision) Reply(req *Request) (json.RawMessage, error) {
	if d.behavior != BehaviorAllow {
		return jsonx.Marshal(d.denial(req.ToolUseID))
	}
	input, err := d.replyInput(req)
	if err != nil {
		return nil, err
	}
	return d.allowance(input, req.ToolUseID)
}

// MarshalJSON encodes the decision on its own, as the answer of a
// PermissionRequest hook: without an echo of unchanged input. [Pass] encodes
// as null.
func (d Decision) MarshalJSON() ([]byte, error) {
	switch {
	case d.behavior == "":
		return []byte("null"), nil
	case d.behavior != BehaviorAllow:
		return jsonx.Marshal(d.denial(""))
	case !d.changed:
		return d.allowance(nil, "")
	}
	input, err := encodeInput(d.input)
	if err != nil {
		return nil, err
	}
	return d.allowance(input, "")
}

// UnmarshalJSON decodes a reply as the CLI does: the behavior must be allow or
// deny, and a changed input must be an object. An empty object means the
// original input.
func (d *Decision) UnmarshalJSON(data []byte) error {
	var f struct {
		Behavior  Behavior        `json:"behavior"`
		Message   string          `json:"message"`
		Interrupt bool            `json:"interrupt"`
		Input     json.RawMessage `json:"updatedInput"`
		Updates   []Update        `json:"updatedPermissions"`
	}
	if string(data) == "null" {
		*d = Decision{}
		return nil
	}
	if err := jsonx.Unmarshal(data, &f); err != nil && !jsonx.Mismatch(err) {
		return err
	}
	switch f.Behavior {
	case BehaviorDeny:
		*d = Decision{behavior: BehaviorDeny, message: f.Message, interrupt: f.Interrupt}
	case BehaviorAllow:
		if len(f.Input) > 0 && !isObject(f.Input) {
			return errors.New("permission: updatedInput is not an object")
		}
		*d = Allow(f.Updates...)
		if len(f.Input) > 0 && !isEmptyObject(f.Input) {
			d.changed, d.input = true, f.Input
		}
	default:
		return fmt.Errorf("permission: behavior %q is neither allow nor deny", f.Behavior)
	}
	return nil
}

// denialFields is the wire form of a denial.
type denialFields struct {
	Behavior  Behavior `json:"behavior"`
	Message   string   `json:"message"`
	Interrupt bool     `json:"interrupt,omitzero"`
	ToolUseID string   `json:"toolUseID,omitzero"`
}

func (d Decision) denial(toolUseID string) denialFields {
	f := denialFields{BehaviorDeny, d.message, d.interrupt, toolUseID}
	switch {
	case d.behavior == "":
		f.Message = passMessage
	case f.Message == "":
		f.Message = defaultDenyMessage
	}
	return f
}

// allowance splices the input instead of marshalling it: marshalling drops
// white space, and the CLI may compare the input with the one it sent.
func (d Decision) allowance(input json.RawMessage, toolUseID string) (json.RawMessage, error) {
	b := make([]byte, 0, len(input)+len(toolUseID)+64)
	b = append(b, `{"behavior":"allow"`...)
	if input != nil {
		b = append(b, `,"updatedInput":`...)
		b = append(b, input...)
	}
	if len(d.updates) > 0 {
		updates, err := jsonx.Marshal(d.updates)
		if err != nil {
			return nil, fmt.Errorf("permission: updates: %w", err)
		}
		b = append(b, `,"updatedPermissions":`...)
		b = append(b, updates...)
	}
	if toolUseID != "" {
		b = append(b, `,"toolUseID":`...)
		b = jsonx.AppendText(b, toolUseID)
	}
	return append(b, '}'), nil
}

// replyInput is never null: the CLI denies a call whose updatedInput is null.
func (d Decision) replyInput(req *Request) (json.RawMessage, error) {
	original := req.Input
	if trimmed := bytes.TrimSpace(original); len(trimmed) == 0 || string(trimmed) == "null" {
		original = json.RawMessage("{}")
	}
	if !d.changed {
		if !jsonx.Valid(original) {
			return nil, errors.New("permission: the input of the request is not JSON")
		}
		return jsonx.Line(original)
	}
	input, err := encodeInput(d.input)
	if err != nil {
		return nil, err
	}
	if isEmptyObject(input) && !isEmptyObject(original) {
		return nil, errors.New("permission: an empty changed input would run the original one")
	}
	return input, nil
}

func encodeInput(input any) (json.RawMessage, error) {
	raw, ok := input.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(input); err != nil {
			return nil, fmt.Errorf("permission: changed input: %w", err)
		}
	}
	if !isObject(raw) {
		return nil, errors.New("permission: the changed input is not a JSON object")
	}
	return jsonx.Line(raw)
}

func isObject(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && jsonx.Valid(raw)
}

func isEmptyObject(raw []byte) bool {
	inner, ok := bytes.CutPrefix(bytes.TrimSpace(raw), []byte("{"))
	return ok && string(bytes.TrimSpace(inner)) == "}"
}
