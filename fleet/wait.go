package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// reached reports whether there is nothing more to wait for, and the error that it ends
// with.
func (rp *reports) reached(ctx context.Context, rec *record, t Ticket) (over bool, err error) {
	switch {
	case t.Status == PromptAnswered:
		return true, nil
	case t.Status.Done():
		return true, &FailedError{rec.Key, t}
	case t.Status == PromptWaiting:
		return false, nil
	}
	err = rp.halted(ctx, rec, t)
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

// untilNews waits until the store may have something new about the watched prompt, or
// returns the error that ends the wait.
func (rp *reports) untilNews(ctx context.Context, w *watcher) error {
	for {
		items, look := w.take(ctx, rp.ear.pollEvery())
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case rp.ctx.Err() != nil:
			return ErrClosed
		case look || len(items) > 0 && items[len(items)-1].msg == nil:
			return nil
		}
	}
}

// follow yields the messages of a prompt, until it ends or waits for a person.
func (rp *reports) follow(ctx context.Context, key, id string, w *watcher, yield func(message.Message, error) bool) {
	shown := false // the result
	for {
		items, look := w.take(ctx, rp.ear.pollEvery())
		for _, it := range items {
			if it.msg != nil {
				_, shown = it.msg.(*message.Result)
				if !yield(it.msg, nil) {
					return
				}
				continue
			}
			if it.err != nil {
				yield(nil, it.err)
			}
			return
		}
		switch {
		case ctx.Err() != nil:
			yield(nil, context.Cause(ctx))
			return
		case len(items) > 0:
		case rp.ctx.Err() != nil:
			yield(nil, ErrClosed)
			return
		case !look:
		default: // it may run elsewhere
			o, rec, err := rp.ticket(ctx, key, id)
			if err != nil || !w.empty() {
				continue
			}
			if o.Status.Done() {
				rp.conclude(key, o, shown, yield)
				return
			}
			if err := rp.halted(ctx, &rec, o); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// conclude yields the outcome of a prompt that this process was not notified about.
func (rp *reports) conclude(key string, o Ticket, shown bool, yield func(message.Message, error) bool) {
	if o.Result != nil && !shown && !yield(o.Result, nil) {
		return
	}
	if o.Status != PromptAnswered {
		yield(nil, &FailedError{key, o})
	}
}

// halted returns why a prompt without an outcome gets no further until a person
// intervenes, nil if it does.
func (rp *reports) halted(ctx context.Context, rec *record, o Ticket) error {
	switch {
	case rec.Stuck != nil:
		return rec.stuckError()
	case o.Status == PromptWaiting:
		return &DeferredError{rec.Key, o.Prompt, o.Question}
	case o.Status == PromptQueued:
		if err := rp.budgets.budget(ctx, rec); !errors.Is(err, errUncounted) {
			return err
		}
	}
	return nil
}
