package claude

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/secret"
)

// secrets collects what the files of a session say in confidence: headers, and
// values under names that tell of a key or a token.
func (p *plan) secrets() []string {
	found := make(map[string]bool)
	for _, text := range append(slices.Collect(maps.Values(p.outside)), p.settings, p.init.ManagedSettings) {
		var value any
		if json.Unmarshal(text, &value) == nil {
			collectSecrets(value, false, found)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// collectSecrets looks through a JSON value. Telling says that the name of the
// value, or of something around it, speaks of secrets.
func collectSecrets(value any, telling bool, found map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			collectSecrets(inner, telling || secret.Tells(name), found)
		}
	case []any:
		for _, inner := range v {
			collectSecrets(inner, telling, found)
		}
	case string:
		if telling {
			found[v] = true
			for _, word := range strings.Fields(v) { // of "Bearer …"
				found[word] = true
			}
		}
	}
}
