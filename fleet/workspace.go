package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// files are the working files of a conversation while this process has its lease.
type files struct {
	provider workspace.Provider // nil: conversations have no folders of their own
	dir      workspace.Workdir  // nil: not opened yet
}

// open opens the folder, and returns a context that has it.
func (f *files) open(ctx context.Context, key string) (context.Context, error) {
	if f.provider == nil {
		return ctx, nil
	}
	if f.dir == nil {
		dir, err := f.provider.Open(ctx, key)
		if err != nil {
			return ctx, fmt.Errorf("claude: fleet: conversation %q: %w", key, err)
		}
		f.dir = dir
	}
	return workspace.With(ctx, f.dir), nil
}

// saveBound is how long the files of a conversation may take to be saved or removed, even
// when the time of the fleet is over.
const saveBound = 2 * time.Minute

// saveFiles saves the folder after a turn. A failure is not an error of the turn: the
// files are here, and the next save includes them.
func (w *worker) saveFiles() {
	if w.files.dir == nil || w.lease.isLost() {
		return
	}
	select {
	case <-w.stop: // it is being deleted
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), saveBound)
	defer cancel()
	err := w.files.dir.Save(ctx, w.lease.Fence)
	if err != nil && !(errors.Is(err, store.ErrLeaseLost) && w.lease.isLost()) {
		w.opts.Logger.Error("the files of a conversation were not saved; they are only on this machine", "conversation", w.c.key, "path", w.files.dir.Path(), "error", err)
	}
}

// closeFiles ends the use of the folder.
func (w *worker) closeFiles() {
	if w.files.dir == nil {
		return
	}
	if err := w.files.dir.Close(); err != nil {
		w.opts.Logger.Warn("the folder of a conversation was not closed", "conversation", w.c.key, "error", err)
	}
	w.files.dir = nil
}

// eraseWorkspace removes the folder of a deleted conversation, with its saved files. A
// process that has no folders removes what the fleet's store has of it: machines that
// have the folder then know that it is an old one.
func (e *eraser) eraseWorkspace(ctx context.Context, key string, fence store.Fence) error {
	if e.opts.Workspace == nil {
		return workspace.Forget(ctx, e.store, e.opts.Project, key, fence)
	}
	unbounded, resume := pauseBound(ctx)
	defer resume()
	own, cancel := context.WithTimeout(unbounded, saveBound)
	defer cancel()
	return e.opts.Workspace.Remove(own, key, fence)
}
