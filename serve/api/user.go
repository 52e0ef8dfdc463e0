package api

import "slices"

// Role determines the permissions of a user. Each role includes the rights of
// those before it.
type Role string

// Valid reports whether there is such a role.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Covers reports whether the role may do what another may.
func (r Role) Covers(least Role) bool {
	return r.Valid() && slices.Index(Roles(), r) >= slices.Index(Roles(), least)
}

// The roles, the least first.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleApprover Role = "approver" // decides approvals
	RoleOperator Role = "operator" // begins conversations, prompts and interrupts
	RoleAdmin    Role = "admin"    // sees everything, and manages tokens
)

// Roles returns the roles, the least first.
func Roles() []Role { return []Role{RoleViewer, RoleApprover, RoleOperator, RoleAdmin} }

// User is the user who makes a request.
type User struct {
	// Name is the user's name in conversations, decisions and notices.
	Name string `json:"name"`
	Role Role   `json:"role"` // what the user may do
	// Address is where the request comes from, for notices. The server sets it.
	Address string `json:"-"`
	// Login is the id of the login whose cookie the request has, empty if it has none.
	// The server sets it.
	Login string `json:"-"`
}
