// Package docs holds the pages that claudectl shows: tables that are made by
// measuring.
//
// They belong in the folder docs, where people read them, and go:embed reaches
// no file above its own folder. So the files here are copies. "go test
// ./internal/test/rules -update" makes them, and that test fails when one
// differs.
package docs

import _ "embed"

// Parity is parity.md: what this SDK offers of the official ones.
//
//go:embed parity.md
var Parity string

// Compatibility is compatibility.md: what each version of the CLI can do.
//
//go:embed compatibility.md
var Compatibility string
