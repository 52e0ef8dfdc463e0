package workspace

import "context"

type dirKey struct{}

// With returns a context that carries the folder of a conversation.
func With(ctx context.Context, d Workdir) context.Context { return context.WithValue(ctx, dirKey{}, d) }

// From returns the folder of the conversation that a context belongs to, nil if it has
// none. The Session function of a fleet with a workspace uses it, for example to confine
// tools to the folder.
func From(ctx context.Context) Workdir {
	d, _ := ctx.Value(dirKey{}).(Workdir)
	return d
}
