package policy

import (
	"context"

	"github.com/claude-agent-go/claude/permission"
)

// First asks the functions in turn and returns the first decision that is not
// [permission.Pass]. An error ends the search and denies the tool call, so that
// a failing check is never skipped.
func First(funcs ...permission.Func) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		for _, fn := range funcs {
			decision, err := fn(ctx, req)
			if err != nil {
				return permission.Pass(), err
			}
			if decision.Behavior() != "" {
				return decision, nil
			}
		}
		return permission.Pass(), nil
	}
}

// Always gives the same decision to every request.
func Always(d permission.Decision) permission.Func {
	return func(context.Context, *permission.Request) (permission.Decision, error) { return d, nil }
}
