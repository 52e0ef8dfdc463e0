package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

var errNotObject = errors.New("the value is not a JSON object")

// Output is the reply of a hook, ready for the wire. Typed hooks return one of
// the output structs of this package instead; it becomes an Output that names
// the right event.
type Output interface {
	// Encode returns a JSON object on one line.
	Encode() (json.RawMessage, error)
}

// Encode returns the reply for an output. For nil, and for a nil pointer in
// out, it is the empty object, which means "no opinion". The CLI treats null
// as a broken reply.
func Encode(out Output) (json.RawMessage, error) {
	if typed, ok := out.(typedOutput); ok {
		return typed.Encode()
	}
	if v := reflect.ValueOf(out); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return json.RawMessage("{}"), nil
	}
	raw, err := out.Encode()
	if err != nil {
		return nil, err
	}
	return RawOutput(raw).Encode()
}

// RawOutput is an [Output] that is already JSON. Empty and null become the
// empty object.
type RawOutput json.RawMessage

// Encode returns the JSON, if it is an object.
func (o RawOutput) Encode() (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(o)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}"), nil
	}
	if !isObject(trimmed) {
		return nil, fmt.Errorf("hook: output: %w", errNotObject)
	}
	return jsonx.Line(trimmed)
}

// Common is the part that all outputs share. Its zero value has no effect.
type Common struct {
	// Stop ends the run after the event, showing StopReason. It does not block
	// the event itself: a tool that a PreToolUse hook answers with Stop still
	// runs.
	Stop       bool
	StopReason string
	// Block objects to what the event is about, with Reason as the reason.
	// The constructors document which events can be blocked, and the effect.
	Block  bool
	Reason string
	// SystemMessage is shown to the user.
	SystemMessage string
	// SuppressOutput hides the hook's output from the transcript.
	SuppressOutput bool
	// TerminalSequence is written to the terminal, if there is one.
	TerminalSequence string
	// Async makes the CLI continue without waiting, as if the hook had no
	// opinion; everything else in the output is dropped. AsyncTimeout is
	// rounded up to milliseconds; zero means the CLI's default.
	Async        bool
	AsyncTimeout time.Duration
}

// StopRun ends the run after the event. It does not block a tool, which still
// runs; use [DenyTool] for that. It fits into every output:
//
//	return &hook.PostToolUseOutput{Common: hook.StopRun("enough")}, nil
func StopRun(reason string) Common { return Common{Stop: true, StopReason: reason} }

// Block objects to what the event is about, if the event allows it. To deny a
// tool call, use [DenyTool].
func Block(reason string) Common { return Common{Block: true, Reason: reason} }

// Async tells the CLI not to wait for the hook's work.
func Async(timeout time.Duration) Common { return Common{Async: true, AsyncTimeout: timeout} }

// commonFields is the wire form of Common with the event's own part.
type commonFields struct {
	Continue         *bool           `json:"continue,omitzero"`
	StopReason       string          `json:"stopReason,omitzero"`
	Decision         string          `json:"decision,omitzero"`
	Reason           string          `json:"reason,omitzero"`
	SystemMessage    string          `json:"systemMessage,omitzero"`
	SuppressOutput   bool            `json:"suppressOutput,omitzero"`
	TerminalSequence string          `json:"terminalSequence,omitzero"`
	Async            bool            `json:"async,omitzero"`
	AsyncTimeout     int64           `json:"asyncTimeout,omitzero"`
	Specific         json.RawMessage `json:"hookSpecificOutput,omitzero"`
}

func (c Common) fields() commonFields {
	if c.Async {
		ms := (c.AsyncTimeout + time.Millisecond - 1).Milliseconds()
		return commonFields{Async: true, AsyncTimeout: max(ms, 0)}
	}
	f := commonFields{
		StopReason:       c.StopReason,
		Reason:           c.Reason,
		SystemMessage:    c.SystemMessage,
		SuppressOutput:   c.SuppressOutput,
		TerminalSequence: c.TerminalSequence,
	}
	if c.Stop {
		f.Continue = new(false)
	}
	if c.Block {
		f.Decision = "block"
	}
	return f
}

// structOutput is an output struct: the common part, and a value that encodes as the
// members of hookSpecificOutput.
type structOutput interface {
	parts() (Common, any, error)
}

// typedOutput is an output struct that knows its event.
type typedOutput struct {
	event Event
	out   structOutput
}

// Encode writes the output in the CLI's form. An event's own part without the
// name of the event is ignored by the CLI, and one with the name of another
// event fails the tool call; so the name comes from the registration.
func (o typedOutput) Encode() (json.RawMessage, error) {
	common, specific, err := o.out.parts()
	if err != nil {
		return nil, fmt.Errorf("hook: output of %s: %w", o.event, err)
	}
	f := common.fields()
	if !f.Async && specific != nil {
		if f.Specific, err = named(o.event, specific); err != nil {
			return nil, fmt.Errorf("hook: output of %s: %w", o.event, err)
		}
	}
	return jsonx.Marshal(f)
}

// named encodes v with the event's name as the first member, or as nothing if
// v has no members.
func named(event Event, v any) (json.RawMessage, error) {
	members, err := jsonx.Marshal(v)
	if err != nil || string(members) == "{}" {
		return nil, err
	}
	name, err := jsonx.Marshal(event)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`{"hookEventName":`), name, []byte(","), members[1:]), nil
}

func isObject(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && jsonx.Valid(raw)
}
