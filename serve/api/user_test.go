package api_test

import (
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// Each role may do what the ones before it may, and nothing of those after it. What is
// not a role may do nothing.
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
