package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/store"
)

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
