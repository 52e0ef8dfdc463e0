package permission

import "context"

type homeKey struct{}

// WithHome returns a context that names the home directory of the CLI, for
// which a tilde in its rules and paths stands. A session sets it for its
// callbacks, from HOME in Options.Env. Use it in tests, and in programs that
// call a [Func] themselves.
func WithHome(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, homeKey{}, dir)
}

// HomeFrom returns the home directory of the CLI, if the context names it.
func HomeFrom(ctx context.Context) (dir string, ok bool) {
	dir, ok = ctx.Value(homeKey{}).(string)
	return dir, ok
}
