// Package docs holds the pages of this folder that claudectl shows: tables that
// are made by measuring, so that there is no second copy of what they say.
//
// It is not internal only because go:embed reaches no files above its own
// folder, and the pages belong here. It is no part of the SDK.
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
