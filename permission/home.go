package permission

import "context"

type homeKey struct{}

// WithHome returns a context that says which directory is the home of the CLI:
// what a tilde stands for in its rules and paths. A session does so for its
// callbacks, by HOME of Options.Env. It is for tests, and for programs that ask
// a [Func] themselves.
func WithHome(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, homeKey{}, dir)
}

// HomeFrom returns the home directory of the CLI, if the context says it.
func HomeFrom(ctx context.Context) (dir string, ok bool) {
	dir, ok = ctx.Value(homeKey{}).(string)
	return dir, ok
}
