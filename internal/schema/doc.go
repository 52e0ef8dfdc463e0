// Package schema makes JSON Schemas from Go types and checks values against
// them, for typed tools and typed answers. No other package deals with schemas.
//
// # From types to schemas
//
// A schema describes what encoding/json can decode into the type, in terms that a
// model can follow: no nulls for slices, no bytes for raw JSON.
//
//   - A struct is an object of its fields, in their order, and nothing else.
//     A field is optional if it is a pointer or has omitempty or omitzero; a
//     pointer may be null. Embedded structs contribute their fields, as in
//     encoding/json.
//   - []byte is text in base64, json.RawMessage and any are anything,
//     time.Time is text in the form of RFC 3339, types that decode from text are
//     text.
//   - A type that decodes itself is anything, because its code cannot be
//     inspected. It may describe itself with a method JSONSchema()
//     json.RawMessage, whose definitions move to those of the whole schema.
//   - The tag jsonschema:"…" describes a field, the tag enum:"a,b,c" lists the
//     values it may have.
//   - A type that contains itself is defined once and referred to.
//
// Channels, functions, complex numbers and interfaces with methods are refused,
// with the path to them; so is a schema that no value of the type could fit, and
// one that applies itself to the same value without end.
//
// # The dialect
//
// Schemas have no $schema and use only what draft-07 and 2020-12 have in
// common: the CLI reads the former, MCP uses the latter.
package schema
