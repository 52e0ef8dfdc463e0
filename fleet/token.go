package fleet

import "context"

// token is the right to do something that only one goroutine may do at a time and that
// waits for a store or a CLI. A mutex guards memory only: a waiter for a token gives up
// when its context ends, however long the holder takes.
type token chan struct{}

func newToken() token { return make(token, 1) }

// take waits for the token until ctx ends. The holder gives it back.
func (t token) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give gives the token back.
func (t token) give() { <-t }
