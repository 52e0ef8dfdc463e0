package serve

import (
	"github.com/claude-agent-go/claude/permission"
)

// modesOf names permission modes.
func modesOf(modes []permission.Mode) []string {
	names := make([]string, 0, len(modes))
	for _, m := range modes {
		names = append(names, string(m))
	}
	return names
}
