package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Hook is one registered hook. The constructors named after the events fill
// Event, Matcher and Func; the other fields may be set freely. A Hook is a
// value and may be used in several sessions.
type Hook struct {
	// Event is the event the hook is called for.
	Event Event
	// Matcher narrows the hook down; for tool events, to tools by name. Plain
	// names are compared exactly and may be joined by "|"; a matcher with
	// other characters is an unanchored regular expression. Empty fits all.
	Matcher string
	// Timeout limits one call. Zero means the session's default.
	Timeout time.Duration
	// OnFailure decides what happens when the hook fails. Zero means the
	// session's default.
	OnFailure FailurePolicy
	// Stage selects when a [PreToolUse] hook is asked, among those of its
	// session.
	Stage Stage
	// Func is called with the event's input and the id of the tool use it
	// belongs to; for events without a tool the CLI makes up an id. It may be
	// called several times at once. Its context ends when the CLI withdraws
	// the call, at the timeout and when the session closes. A nil Output with
	// a nil error means "no opinion". An error, a panic, a timeout and an
	// Output that cannot be encoded are failures.
	Func func(ctx context.Context, raw json.RawMessage, toolUseID string) (Output, error)
}

// WithTimeout returns a copy of h with another timeout.
func (h Hook) WithTimeout(d time.Duration) Hook {
	h.Timeout = d
	return h
}

// FailClosed returns a copy of h whose failure blocks; see the constant
// [FailClosed].
func (h Hook) FailClosed() Hook {
	h.OnFailure = FailClosed
	return h
}

// FailOpen returns a copy of h whose failure never blocks, whatever the event;
// see the constant [FailOpen].
func (h Hook) FailOpen() Hook {
	h.OnFailure = FailOpen
	return h
}

// Raw makes an untyped hook, for events that this package does not know and
// for programs that pass JSON on. A nil reply means "no opinion"; any other
// reply must be a JSON object.
func Raw(event Event, matcher string, fn func(ctx context.Context, raw json.RawMessage, toolUseID string) (json.RawMessage, error)) Hook {
	h := Hook{Event: event, Matcher: matcher}
	if fn == nil {
		return h
	}
	h.Func = func(ctx context.Context, raw json.RawMessage, toolUseID string) (Output, error) {
		reply, err := fn(ctx, raw, toolUseID)
		if err != nil {
			return nil, err
		}
		return RawOutput(reply), nil
	}
	return h
}

// inputOf is a pointer to an input type.
type inputOf[T any] interface {
	*T
	received(raw json.RawMessage, toolUseID string)
}

// outputOf is a pointer to an output type.
type outputOf[T any] interface {
	*T
	parts() (Common, any, error)
}

// answer makes a hook from a function that returns an output. A function that
// is nil makes a hook without Func, which a session refuses.
func answer[I, O any, PI inputOf[I], PO outputOf[O]](event Event, matcher string, fn func(context.Context, PI) (PO, error)) Hook {
	h := Hook{Event: event, Matcher: matcher}
	if fn == nil {
		return h
	}
	h.Func = func(ctx context.Context, raw json.RawMessage, toolUseID string) (Output, error) {
		in, err := decode[I, PI](event, raw, toolUseID)
		if err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		if out == nil { // a typed nil inside the interface would not be nil
			return nil, nil
		}
		return typedOutput{event, out}, nil
	}
	return h
}

// observe makes a hook from a function that only watches.
func observe[I any, PI inputOf[I]](event Event, matcher string, fn func(context.Context, PI) error) Hook {
	h := Hook{Event: event, Matcher: matcher}
	if fn == nil {
		return h
	}
	h.Func = func(ctx context.Context, raw json.RawMessage, toolUseID string) (Output, error) {
		in, err := decode[I, PI](event, raw, toolUseID)
		if err != nil {
			return nil, err
		}
		return nil, fn(ctx, in)
	}
	return h
}

// decode reads an input. A field of an unexpected kind stays zero; an error is
// text that is not a JSON object, and an object that could be read in two ways.
func decode[I any, PI inputOf[I]](event Event, raw json.RawMessage, toolUseID string) (PI, error) {
	in := PI(new(I))
	if !isObject(raw) {
		return nil, fmt.Errorf("hook: input of %s is not a JSON object", event)
	}
	if err := jsonx.Unambiguous(raw); err != nil {
		return nil, fmt.Errorf("hook: input of %s: %w", event, err)
	}
	if err := jsonx.Unmarshal(raw, in); err != nil && !jsonx.Mismatch(err) {
		return nil, fmt.Errorf("hook: input of %s: %w", event, err)
	}
	in.received(raw, toolUseID)
	return in, nil
}
