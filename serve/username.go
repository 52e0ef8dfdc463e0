package serve

import (
	"strings"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// maxUserName is how many characters the name of a user may have.
const maxUserName = 100

// usableName reports whether a name is fit for a user: people read it beside decisions,
// so it is short and has no characters that are invisible, reverse the text or break
// the line.
func usableName(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxUserName && terminal.Line(name) == name && strings.TrimSpace(name) == name
}
