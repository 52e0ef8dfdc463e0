package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
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

// eraseWorkspace removes the folder of a deleted conversation, with its saved files.
// Their records in the fleet's store go even if this process has no folders, or folders
// of another kind: machines that have the folder then know that it is an old one.
func (e *eraser) eraseWorkspace(ctx context.Context, key string, fence store.Fence) error {
	if e.opts.Workspace != nil {
		if err := e.removeFolder(ctx, key, fence); err != nil {
			return err
		}
	}
	return workspace.Forget(ctx, e.store, e.opts.Project, key, fence)
}

func (e *eraser) removeFolder(ctx context.Context, key string, fence store.Fence) error {
	unbounded, resume := pauseBound(ctx)
	defer resume()
	own, cancel := context.WithTimeout(unbounded, saveBound)
	defer cancel()
	return e.removes.Remove(own, e.opts.Workspace, key, fence)
}

// wakeAndRestore restores files when the CLI is not changing any itself.
func (w *worker) wakeAndRestore(ctx context.Context, r *RewindTo) (*control.Rewind, error) {
	if w.session == nil {
		if err := w.connect(ctx, rewind); err != nil {
			return nil, err
		}
	}
	if !r.DryRun && !w.quiet(ctx) {
		return &control.Rewind{Error: "agents still work in the background"}, nil
	}
	return w.restoreFiles(ctx, r)
}

// restoreFiles lets the CLI restore files. The CLI reports only in a dry run what
// changes. No fence keeps a process that has lost the lease from writing files.
func (w *worker) restoreFiles(ctx context.Context, r *RewindTo) (*control.Rewind, error) {
	done, err := refusal(w.session.Files().PreviewRewind(ctx, r.Prompt))
	if err != nil || r.DryRun || !done.CanRewind {
		return done, err
	}
	if !w.lease.Sure() || w.over() {
		return nil, fmt.Errorf("claude: fleet: conversation %q: no files were restored: %w", w.c.key, store.ErrLeaseLost)
	}
	restored, err := refusal(w.session.Files().Rewind(ctx, r.Prompt))
	if err != nil || !restored.CanRewind {
		return restored, err
	}
	done.SkippedLinks = restored.SkippedLinks
	return done, nil
}

// refusal turns a refusal of the CLI into a result with the reason.
func refusal(r *control.Rewind, err error) (*control.Rewind, error) {
	if refused, ok := errors.AsType[*claude.ControlError](err); ok && refused.Err == nil {
		return &control.Rewind{Error: refused.Message}, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// quiet waits until no turn that the CLI began by itself runs, and no agent works in
// the background, because they change files. It returns false if that takes too long.
// It does not wait for shell commands: their changes are never taken back.
func (w *worker) quiet(ctx context.Context) bool {
	still := func() bool {
		a := w.session.Activity()
		a.Shells = 0
		return a.Idle()
	}
	if still() {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, quietBound)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !still() && pause(bounded, lookAgain) {
		}
		cancel()
	}()
	w.listen(bounded)
	cancel()
	<-ended
	return still()
}

// quietBound is how long agents in the background may keep a rewind waiting.
const quietBound = 30 * time.Second
