package claude

import (
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// errorText is the text of an error: its parts in their order, each thing once.
// What the CLI says often comes two ways, on stderr and in a result.
func errorText(parts ...string) string {
	// Errors inside of others begin with the name, too, also those of
	// errors.Join.
	inner := strings.NewReplacer(": claude: ", ": ", "\nclaude: ", ": ")
	text := "claude"
	for _, part := range parts {
		part = inner.Replace(strings.TrimPrefix(strings.TrimSpace(part), "claude: "))
		if rest := unsaid(part, text); rest != "" {
			text += ": " + rest
		}
	}
	return terminal.Clean(text)
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// unsaid returns the lines of an output that are not in a text already.
func unsaid(output, text string) string {
	if strings.Contains(text, output) {
		return ""
	}
	lines := strings.Split(output, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && strings.Contains(text, line)
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
