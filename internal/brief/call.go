package brief

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/show"
)

// CallWidth is how much of a tool's input a line shows.
const CallWidth = 100

// Call describes a tool call: by the member of its input that people know it by, or
// by all of the input. Secrets must be hidden before: a secret that was cut off can
// no longer be recognised.
func Call(input json.RawMessage) string {
	text := FirstLine(cmp.Or(show.About(input), string(input)))
	if cut := Fit(text, CallWidth); cut != text {
		text = cut + "..."
	}
	return text
}

// Marks by which the CLI shows that an interrupt has stopped a tool. The second one
// corrects a text, and a kind of result, that claim that a person rejected the call.
const (
	interruptMark = "[Request interrupted by user"
	stoppedMark   = "Correction to the text above: this call was stopped while running"
)

// Interrupted reports whether the result of a tool call shows that an interrupt has
// stopped the tool. failed is whether it is an error: a tool may well print the second
// mark.
func Interrupted(result string, failed bool) bool {
	return strings.HasPrefix(result, interruptMark) || failed && strings.Contains(result, stoppedMark)
}

// FirstLine returns the first line of a text, with a mark if there are more.
func FirstLine(text string) string {
	first, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if more != "" {
		first += " ..."
	}
	return first
}

// Fit cuts a line so that it does not wrap. Characters beyond ASCII may be two
// columns wide and are counted so.
func Fit(text string, columns int) string {
	for i, r := range text {
		columns--
		if r >= utf8.RuneSelf {
			columns--
		}
		if columns < 0 {
			return text[:i]
		}
	}
	return text
}
