package restore

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/store"
)

// Resumable returns an error that matches [store.ErrDamaged] if a session in a
// configuration directory, once it is in a store, could not be restored from there:
// because something is missing in the middle of it, or because it is too large.
func Resumable(ctx context.Context, root *os.Root, folder, session string) error {
	base := path.Join("projects", folder, session)
	names, err := subsBelow(root, base)
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = path.Join(base, names[i])
	}
	w := &writer{left: maxBytes}
	for _, name := range append(names, base) {
		if err := w.resumable(ctx, root, name); err != nil {
			return fmt.Errorf("%s.jsonl: %w", name, err)
		}
	}
	return nil
}

// resumable checks one transcript of a session on disk.
func (w *writer) resumable(ctx context.Context, root *os.Root, name string) error {
	file, _, err := regular.OpenNoFollow(root, name+".jsonl")
	if err != nil {
		return err
	}
	defer file.Close()
	var chain order
	for e, err := range entriesOf(file, func() {}) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if err := w.check(e, &chain); err != nil {
			return fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
	}
	if err := chain.end(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return nil
}
