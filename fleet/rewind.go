package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/store"
)

// RewindTo asks for files as they were when a prompt was sent.
type RewindTo struct {
	// ID is a UUID that names the request, as that of a prompt does: the same one
	// again returns what the first has done. Empty: a random one.
	ID string `json:"-"`
	// Prompt is the id of the prompt. What Claude has changed since it was sent
	// is taken back, but not what shell commands have changed.
	Prompt string `json:"prompt"`
	// DryRun only says what would change.
	DryRun bool `json:"dryRun,omitzero"`
}

// rewindStep is how a rewind stands: one that has been begun too often, because
// the processes that began it died, is not begun again. A conversation is not
// stuck because of it.
func (w *waking) rewindStep(ctx context.Context, p *queued) (step, error) {
	if p.Begun < w.f.opts.Attempts {
		return rewind, nil
	}
	o := Ticket{Status: Failed, Error: p.neverEnded()}
	if err := w.ended(ctx, p, o); err != nil {
		return sleep, err
	}
	return sleep, errEnded
}

// rewindFiles restores files. What the CLI refuses, or cannot do because it does
// not start, is the outcome: people decide whether to try again. If the store fails,
// or the lease is in doubt, it is tried again.
func (w *waking) rewindFiles(ctx context.Context, p *queued) error {
	t, err := w.f.asked.transcript(ctx, w.rec.Session)
	if err != nil {
		return w.failed(p, err)
	}
	done := &control.Rewind{Error: "nothing was said yet"}
	if t != nil {
		done, err = w.wakeAndRestore(ctx, p.Rewind)
	}
	if err != nil && !errors.Is(err, claude.ErrNoCheckpoints) {
		err = errors.Join(err, w.close()) // or it might restore them yet, under a later prompt
	}
	if err != nil && (w.over() || errors.Is(err, store.ErrLeaseLost)) {
		w.takeBackAttempt(p)
		return err
	}
	o := Ticket{Status: Answered, Rewind: done, Session: w.rec.Session}
	if err != nil {
		o.Status, o.Error = Failed, cutFailure(err)
	}
	return w.persist(func() error { return w.ended(ctx, p, o) })
}

// wakeAndRestore restores files when the CLI changes none itself.
func (w *waking) wakeAndRestore(ctx context.Context, r *RewindTo) (*control.Rewind, error) {
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

// restoreFiles lets the CLI restore files. The CLI says only in a dry run what
// changes. No fence keeps a process that has lost the lease from writing files.
func (w *waking) restoreFiles(ctx context.Context, r *RewindTo) (*control.Rewind, error) {
	done, err := refusal(w.session.PreviewRewind(ctx, r.Prompt))
	if err != nil || r.DryRun || !done.CanRewind {
		return done, err
	}
	if !w.lease.Sure() || w.over() {
		return nil, fmt.Errorf("claude: fleet: conversation %q: no files were restored: %w", w.c.key, store.ErrLeaseLost)
	}
	restored, err := refusal(w.session.RewindFiles(ctx, r.Prompt))
	if err != nil || !restored.CanRewind {
		return restored, err
	}
	done.SkippedLinks = restored.SkippedLinks
	return done, nil
}

// refusal makes a refusal of the CLI a result that says why.
func refusal(r *control.Rewind, err error) (*control.Rewind, error) {
	if refused, ok := errors.AsType[*claude.ControlError](err); ok && refused.Err == nil {
		return &control.Rewind{Error: refused.Message}, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
