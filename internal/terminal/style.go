package terminal

import (
	"slices"
	"strings"
)

// Styles of text, as terminals number them.
const (
	Bold  = "1"
	Faint = "2"
	Red   = "31"
	Green = "32"
	Loud  = "1;7;33" // what must not be overlooked
)

// Paint gives clean text a style.
func Paint(style, text string) string { return "\x1b[" + style + "m" + text + "\x1b[0m" }

// Coloured reports whether a stream is to be coloured in an environment, of whose
// entries the last with a name counts.
func Coloured(env []string, stream any) bool {
	return SupportsEscapes(stream) && lookup(env, "NO_COLOR") == "" && lookup(env, "TERM") != "dumb"
}

func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
