package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema that is ready for use. It is immutable and safe for
// concurrent use.
type Schema struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
}

// For returns the schema of a type.
func For(t reflect.Type) (*Schema, error) {
	root, err := infer(t)
	if err != nil {
		return nil, err
	}
	return newSchema(root)
}

// ForObject returns the schema of a type that must be an object, for the
// arguments of a tool. A type that may be anything becomes one that may be any
// object.
func ForObject(t reflect.Type) (*Schema, error) {
	root, err := infer(t)
	if err != nil {
		return nil, err
	}
	if isEmpty(root) {
		root.Type = "object"
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("%v is not a JSON object: use a struct or a map", t)
	}
	return newSchema(root)
}

// wrapper is the one property of an object that stands for a value that is not
// an object.
const wrapper = "value"

// ForAnswer returns the schema of a type for a structured answer, which must
// be an object: wrapped is true if the value is in the property "value" of one
// because it is not an object itself.
func ForAnswer(t reflect.Type) (s *Schema, wrapped bool, err error) {
	root, err := infer(t)
	if err != nil {
		return nil, false, err
	}
	if root.Type != "object" {
		wrapped = true
		definitions := root.Definitions
		root.Definitions = nil
		root = &jsonschema.Schema{
			Type:                 "object",
			Properties:           map[string]*jsonschema.Schema{wrapper: root},
			Required:             []string{wrapper},
			AdditionalProperties: falseSchema(),
			Definitions:          definitions,
		}
	}
	s, err = newSchema(root)
	return s, wrapped, err
}

// Unwrap returns the value inside an answer that is wrapped.
func Unwrap(answer json.RawMessage) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil {
		return nil, err
	}
	value, ok := object[wrapper]
	if !ok {
		return nil, fmt.Errorf("no property %q", wrapper)
	}
	return value, nil
}

// Parse reads a schema that was not inferred here.
func Parse(raw json.RawMessage) (*Schema, error) {
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, Explain(err)
	}
	resolved, err := resolve(root)
	if err != nil {
		return nil, err
	}
	return &Schema{raw: raw, resolved: resolved}, nil
}

// resolve makes a schema ready, if checking a value against it comes to an end.
func resolve(root *jsonschema.Schema) (*jsonschema.Resolved, error) {
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, err
	}
	if err := checkRecursion(root); err != nil {
		return nil, err
	}
	return resolved, nil
}

// newSchema resolves an inferred schema and encodes it.
func newSchema(root *jsonschema.Schema) (*Schema, error) {
	resolved, err := resolve(root)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	return &Schema{raw: raw, resolved: resolved}, nil
}

// JSON returns the schema as it is sent. It must not be changed.
func (s *Schema) JSON() json.RawMessage { return s.raw }

// Object reports whether the schema wants an object.
func (s *Schema) Object() bool { return s.resolved.Schema().Type == "object" }

// Dialect returns $schema, "" if there is none.
func (s *Schema) Dialect() string { return s.resolved.Schema().Schema }

// Validate reports how a JSON value differs from the schema. A value that is
// nested deeper than 512 levels fits none.
func (s *Schema) Validate(data json.RawMessage) error {
	if tooDeep(data) {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	if err := s.resolved.Validate(value); err != nil {
		return errors.New(explain(err))
	}
	return nil
}

// falseSchema is the schema that no value fits.
func falseSchema() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// isEmpty reports whether a schema has no constraints.
func isEmpty(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Types == nil && s.Ref == "" && s.AnyOf == nil && s.AllOf == nil &&
		s.OneOf == nil && s.Enum == nil && s.Const == nil && s.Not == nil
}
