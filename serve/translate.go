package serve

import (
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// modelsOf returns the usage of models as clients see it.
func modelsOf(used map[string]message.ModelUsage) map[string]api.ModelUsage {
	if used == nil {
		return nil
	}
	all := make(map[string]api.ModelUsage, len(used))
	for name, u := range used {
		all[name] = api.ModelUsage(u)
	}
	return all
}

// ledgerModels returns the usage of models as the fleet counts it.
func ledgerModels(used map[string]api.ModelUsage) map[string]message.ModelUsage {
	if used == nil {
		return nil
	}
	all := make(map[string]message.ModelUsage, len(used))
	for name, u := range used {
		all[name] = message.ModelUsage(u)
	}
	return all
}

// modesOf names permission modes.
func modesOf(modes []permission.Mode) []string {
	names := make([]string, 0, len(modes))
	for _, m := range modes {
		names = append(names, string(m))
	}
	return names
}
