package show

import _ "embed"

// Templates defines the templates "diff", of a [*Diff], and "questions", of a
// slice of [Question].
//
//go:embed shared.html
var Templates string

// Style is the style of what the pages share, and the colours.
//
//go:embed shared.css
var Style string
