// Package docs holds the pages of this folder that programs show: tables that
// are made by measuring, so that there is no second copy of what they say.
package docs

import _ "embed"

// Parity is parity.md: what this SDK offers of the official one.
//
//go:embed parity.md
var Parity string

// Compatibility is compatibility.md: what each version of the CLI can do.
//
//go:embed compatibility.md
var Compatibility string
