package workspace

import (
	"context"
	"fmt"
)

// turn is a lock for which a caller waits no longer than its context. Its holder runs git,
// which has a bound of its own, but never waits for a disk: one that hangs would stop every
// worktree of the process.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. The caller ends it.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("other worktrees are being made or removed: %w", context.Cause(ctx))
	}
}

func (t turn) end() { <-t }

// run does something in a turn.
func (t turn) run(ctx context.Context, do func() error) error {
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.end()
	return do()
}
