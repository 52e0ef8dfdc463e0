package fleet_test

import (
	"slices"

	"github.com/claude-agent-go/claude/store"
)

// puts reports whether changes make or change a record of a kind.
func puts(all []store.RecordChange, kind string) bool {
	return slices.ContainsFunc(all, func(c store.RecordChange) bool { return c.Key.Kind == kind && !c.Drop && !c.Keep })
}
