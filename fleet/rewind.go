package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/uuid"
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

// Rewind restores the files that Claude has changed, and says which. It needs
// [claude.Options].FileCheckpointing, and the machine on which the files were
// changed. What was said stays; [Fleet.Fork] copies it up to a message.
//
// It takes its turn behind the prompts that were sent before, wakes the
// conversation if it sleeps, and returns when it is done. If ctx ends before it
// has begun, it is taken back. While agents work in the background it waits for them,
// half a minute at most. A result without CanRewind has changed nothing, and says
// why. Errors: [ErrUnknown], [ErrStuck], a [*FailedError], and those of Send.
func (f *Fleet) Rewind(ctx context.Context, key string, r RewindTo) (control.Rewind, error) {
	if !uuid.Valid(r.Prompt) {
		return control.Rewind{}, fmt.Errorf("claude: fleet: %w: prompt id %q is not a UUID", store.ErrInvalid, r.Prompt)
	}
	if _, err := f.records.load(ctx, key); err != nil {
		return control.Rewind{}, err
	}
	fresh := r.ID == ""
	if fresh {
		r.ID = newID()
	}
	w := f.watch(key, r.ID)
	defer f.unwatch(key, r.ID, w)
	if _, err := f.Send(ctx, key, Prompt{ID: r.ID, rewind: &r, fresh: fresh}); err != nil {
		// It may have been accepted, and nobody waits for it.
		return control.Rewind{}, errors.Join(err, f.takeBackRewind(ctx, key, r.ID))
	}
	w.recheck() // it may have been sent before, and have ended
	for {
		w.take(ctx, f.opts.Poll)
		o, rec, err := f.ticket(ctx, key, r.ID)
		switch {
		case ctx.Err() != nil:
			return control.Rewind{}, errors.Join(context.Cause(ctx), f.takeBackRewind(ctx, key, r.ID))
		case f.ctx.Err() != nil:
			return control.Rewind{}, ErrClosed
		case errors.Is(err, ErrUnknown), errors.Is(err, ErrDeleted):
			return control.Rewind{}, err
		case err != nil: // the store may come back
		case o.Rewind != nil:
			return *o.Rewind, nil
		case o.Status.Done():
			return control.Rewind{}, &FailedError{key, o}
		case rec.Stuck != nil:
			return control.Rewind{}, errors.Join(rec.stuckError(), f.takeBackRewind(ctx, key, r.ID))
		}
	}
}

// takeBackRewind cancels a rewind that nobody waits for. If it has begun, it is done
// anyway, which is not an error.
func (f *Fleet) takeBackRewind(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askBound)
	defer cancel()
	if err := f.Cancel(ctx, key, id); !errors.Is(err, ErrBegun) && !errors.Is(err, ErrUnknown) {
		return err
	}
	return nil
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
