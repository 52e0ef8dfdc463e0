package restore

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// Resumable returns an error that matches [store.ErrDamaged] if a session in a
// configuration directory, once it is in a store, could not be restored from there:
// because something is missing in the middle of it, or because it is too large. It
// returns one that matches [transcript.ErrEmpty] if nothing was said in it, even if it
// has a title.
func Resumable(ctx context.Context, root *os.Root, folder, session string) error {
	base := path.Join("projects", folder, session)
	names, err := subsBelow(root, base)
	if err != nil {
		return err
	}
	if len(names) > maxSubs {
		return fmt.Errorf("%s: %w: it has %d subagents, more than %d", base, store.ErrDamaged, len(names), maxSubs)
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
	if err := spoken(ctx, root, base); err != nil {
		return fmt.Errorf("%s.jsonl: %w", base, err)
	}
	return nil
}

// spoken returns [transcript.ErrEmpty] for a transcript without a message, as a fork of
// it does.
func spoken(ctx context.Context, root *os.Root, name string) error {
	file, _, err := regular.OpenNoFollow(root, name+".jsonl")
	if err != nil {
		return err
	}
	defer file.Close()
	var index transcript.Index
	if err := index.ReadFrom(ctx, file); err != nil {
		return err
	}
	_, err = index.Cut("", true)
	return err
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
