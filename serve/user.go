package serve

import "context"

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
