// Package openapi describes Go types as schemas of an OpenAPI document.
//
// The schemas that validate a request (package internal/schema) are made for models
// and for precise errors: each stands alone, null is allowed where Go has a pointer,
// and times are patterns. Generators of clients want something else: every named type
// once, under its name, with references between them; a time with the format
// date-time; an optional member instead of null; and nowhere a schema that is just
// true. [Schemas] writes those.
//
// Descriptions come from the comments in the source, so that there is one text for
// readers of Go and for readers of the document. A program has no comments when it
// runs: words.json keeps them, and a test of this package compares it with the source.
package openapi
