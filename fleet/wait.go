package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/store"
)

// Wait returns how a prompt ended, as soon as it has, whichever process has sent it and
// runs it. If it was not answered, the error is a [*FailedError]. A prompt
// that waits for a person, or for the next day because the budget of this one is spent,
// is waited for: days, if ctx allows. One that cannot get any further without an
// operator is not: then the error is a [*StuckError] or a [*BudgetError], and the ticket shows how the prompt stands. A prompt that the
// conversation does not have, or not anymore (see Options.Keep), is [ErrUnknown].
//
// When ctx ends, the error is its cause, and the ticket is what was last known. The
// prompt itself is not affected. A store that cannot be read is asked again until then.
func (f *Fleet) Wait(ctx context.Context, key, id string) (Ticket, error) {
	if err := checkKey(f.opts.Project, key); err != nil {
		return Ticket{}, err
	}
	w := f.watch(key, id)
	defer f.unwatch(key, id, w)
	last := Ticket{Prompt: id}
	for {
		t, rec, err := f.ticket(ctx, key, id)
		if err == nil {
			last = t
			if over, err := f.reached(ctx, &rec, t); over {
				return t, err
			}
		} else if final(err) {
			return last, err
		}
		if stop := f.untilNews(ctx, w); stop != nil {
			if err != nil && ctx.Err() != nil && !errors.Is(err, stop) {
				stop = fmt.Errorf("%w; %w", stop, err)
			}
			return last, stop
		}
	}
}

// reached reports whether there is nothing more to wait for, and the error that it ends
// with.
func (f *Fleet) reached(ctx context.Context, rec *record, t Ticket) (over bool, err error) {
	switch {
	case t.Status == Answered:
		return true, nil
	case t.Status.Done():
		return true, &FailedError{rec.Key, t}
	case t.Status == Waiting:
		return false, nil
	}
	err = f.halted(ctx, rec, t)
	if spent, ok := errors.AsType[*BudgetError](err); ok && !spent.Resets.IsZero() {
		return false, nil
	}
	return err != nil, err
}

// final reports whether asking the store again would change nothing.
func final(err error) bool {
	for _, reason := range []error{ErrUnknown, ErrDeleted, store.ErrInvalid, store.ErrDamaged, store.ErrNewer} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// untilNews waits until the store may have something new about the prompt that is
// watched, or returns why it will not be told.
func (f *Fleet) untilNews(ctx context.Context, w *watcher) error {
	for {
		items, look := w.take(ctx, f.opts.Poll)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case f.ctx.Err() != nil:
			return ErrClosed
		case look || len(items) > 0 && items[len(items)-1].msg == nil:
			return nil
		}
	}
}
