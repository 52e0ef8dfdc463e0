package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/claude-agent-go/claude/internal/schema"
	"github.com/claude-agent-go/claude/message"
)

// Reasons of an [OutputError].
var (
	// ErrOutputRetries means that the model did not manage to follow the
	// schema: the CLI gave up after several attempts.
	ErrOutputRetries = errors.New("no valid structured output after all attempts")
	// ErrNoOutput means that the result has no structured output, because no
	// schema was given or because the model answered in another way.
	ErrNoOutput = errors.New("no structured output in the result")
	// ErrOutputMismatch means that the structured output does not fit the Go
	// type.
	ErrOutputMismatch = errors.New("the structured output does not fit the type")
)

// OutputError reports that a result has no typed answer.
type OutputError struct {
	// Reason is one of ErrOutputRetries, ErrNoOutput and ErrOutputMismatch.
	Reason error
	// Result is the result, if there is one.
	Result *message.Result
	// Err gives the details, if more is known.
	Err error
}

func (e *OutputError) Error() string {
	return errorText(e.Reason.Error(), textOf(e.Err))
}

// Unwrap returns Reason and Err.
func (e *OutputError) Unwrap() []error { return nonNil(e.Reason, e.Err) }

// AskAs is [Ask] for an answer of type T. It gives the JSON Schema of T to the
// CLI, then checks and decodes the answer. See [SchemaFor] for what T may be.
// The result has everything else: cost, session id, denials. It is nil only if
// there was none; most errors come with it. The error is that of Ask, or an
// [*OutputError].
func AskAs[T any](ctx context.Context, prompt string, opts *Options) (T, *message.Result, error) {
	var none T
	own := opts.clone()
	if own.OutputSchema != nil {
		return none, nil, &OptionError{"OutputSchema", "AskAs takes the schema from the type"}
	}
	var err error
	if own.OutputSchema, err = SchemaFor[T](); err != nil {
		return none, nil, &OptionError{"OutputSchema", err.Error()}
	}
	result, err := Ask(ctx, prompt, own)
	if err != nil && !exhausted(result) {
		return none, result, err
	}
	answer, err := Decode[T](result)
	return answer, result, err
}

// SchemaFor returns the JSON Schema of T for Options.OutputSchema. The CLI
// requires an object, so any other type is wrapped in an object with the
// single property "value", which [Decode] unwraps again.
//
// The schema follows encoding/json. Fields are required unless they are
// pointers or have omitempty or omitzero. The tag jsonschema:"…" describes a
// field to the model, enum:"a,b" lists its values, and a type with a method
// JSONSchema() json.RawMessage describes itself. A type that JSON cannot be
// decoded into, such as a channel or an interface with methods, is an error.
func SchemaFor[T any]() (json.RawMessage, error) {
	s, _, err := schema.ForAnswer(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return s.JSON(), nil
}

// Decode returns the typed answer of a result. The session must have been
// started with the OutputSchema of the same type. The error is an
// [*OutputError], or a [*ResultError] if the turn failed for another reason.
func Decode[T any](result *message.Result) (T, error) {
	var answer T
	switch {
	case result == nil:
		return answer, &OutputError{Reason: ErrNoOutput}
	case exhausted(result):
		return answer, &OutputError{Reason: ErrOutputRetries, Result: result, Err: errors.New(result.Problem())}
	case result.Failed():
		return answer, &ResultError{Result: result}
	case len(result.StructuredOutput) == 0:
		return answer, &OutputError{Reason: ErrNoOutput, Result: result}
	}
	if err := decodeOutput(result.StructuredOutput, &answer); err != nil {
		var none T
		return none, &OutputError{Reason: ErrOutputMismatch, Result: result, Err: err}
	}
	return answer, nil
}

// exhausted reports whether the CLI gave up on the schema.
func exhausted(r *message.Result) bool {
	return r != nil && (r.Subtype == message.ResultErrorMaxStructure || r.TerminalReason == message.EndStructuredOutputAttempts)
}

// decodeOutput checks an answer against its Go type and decodes it.
func decodeOutput[T any](output json.RawMessage, answer *T) error {
	s, wrapped, err := schema.ForAnswer(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	if err := s.Validate(output); err != nil {
		return err
	}
	if wrapped {
		if output, err = schema.Unwrap(output); err != nil {
			return err
		}
	}
	return schema.Explain(json.Unmarshal(output, answer))
}

// outputOnArgv is the longest schema for the command line, where a CLI
// too old for it complains. A longer one travels like everything big: in the
// handshake alone.
const outputOnArgv = 8 << 10

// checkOutput refuses a schema that the CLI would refuse, or worse, ignore.
func checkOutput(o *Options) *OptionError {
	if o.OutputSchema == nil {
		return nil
	}
	s, err := schema.Parse(o.OutputSchema)
	if err != nil {
		return &OptionError{"OutputSchema", "is not a JSON Schema: " + err.Error()}
	}
	if !s.Object() {
		return &OptionError{"OutputSchema", `is not of type "object", and the CLI ignores such a schema (SchemaFor wraps other types)`}
	}
	switch s.Dialect() {
	case "", "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#":
		return nil
	}
	return &OptionError{"OutputSchema", fmt.Sprintf("has the $schema %q, but the CLI reads draft-07 only", s.Dialect())}
}
