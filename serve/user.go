package serve

import (
	"context"

	"github.com/claude-agent-go/claude/serve/api"
)

// userKey is the key of the user in the context of a request.
type userKey struct{}

// UserOf returns the user of the request with this context, false if it has no login.
func UserOf(ctx context.Context) (api.User, bool) {
	u, ok := ctx.Value(userKey{}).(api.User)
	return u, ok
}

// WithUser returns a context in which [UserOf] finds the user. The server calls it;
// other callers need it only in tests of pages.
func WithUser(ctx context.Context, u api.User) context.Context {
	return context.WithValue(ctx, userKey{}, u)
}

// need returns a problem unless the user has a role.
func need(u api.User, least api.Role) error {
	if u.Name == "" {
		return unauthorized.because("send a bearer token, or open a login link: \"claudectl serve login\" prints one")
	}
	if !u.Role.Covers(least) {
		return forbidden.because("you are %s, and this needs %s: ask an admin for a token with that role", u.Role, least)
	}
	return nil
}
