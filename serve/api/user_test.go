package api_test

import (
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// Each role includes the rights of those before it, and none of those after it. An
// unknown role has no rights.
func TestRoleCovers(t *testing.T) {
	roles := api.Roles()
	for i, role := range roles {
		if !role.Valid() {
			t.Errorf("%q is not valid", role)
		}
		for j, least := range roles {
			if got := role.Covers(least); got != (j <= i) {
				t.Errorf("%q covers %q: %t", role, least, got)
			}
		}
		for _, other := range []api.Role{"", "root", "Admin"} {
			if other.Covers(role) || other.Valid() {
				t.Errorf("%q may do what %q may", other, role)
			}
		}
	}
}
