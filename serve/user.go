package serve

import (
	"context"
	"slices"
)

// Role says what a user may do. Each role may do what the ones before it may.
type Role string

// The roles, the least first.
const (
	Viewer   Role = "viewer"   // reads
	Approver Role = "approver" // decides approvals
	Operator Role = "operator" // begins conversations, prompts and interrupts
	Admin    Role = "admin"    // sees everything, and manages tokens
)

// Roles returns the roles, the least first.
func Roles() []Role { return []Role{Viewer, Approver, Operator, Admin} }

// Valid reports whether there is such a role.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Covers reports whether the role may do what another may.
func (r Role) Covers(least Role) bool {
	return r.Valid() && slices.Index(Roles(), r) >= slices.Index(Roles(), least)
}

// User is who makes a request.
type User struct {
	// Name is what conversations, decisions and notices call them.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Address is where the request comes from, for notices. The server sets it.
	Address string `json:"-"`

	session string // the id of the login, if it was by cookie
}

// userKey is the key of the user in the context of a request.
type userKey struct{}

// UserOf returns who makes the request with this context, false if nobody is
// logged in.
func UserOf(ctx context.Context) (User, bool) {
	u, ok := ctx.Value(userKey{}).(User)
	return u, ok
}

// WithUser returns a context in which [UserOf] finds the user. The server calls
// it; others need it in tests of pages.
func WithUser(ctx context.Context, u User) context.Context {
	return context.WithValue(ctx, userKey{}, u)
}
