package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Send accepts a prompt for a conversation, which is made if there is none, and
// returns its id. The prompt is accepted when it is written to the store. From
// then on it is answered, or reported as failed, but never lost. After an
// [*InDoubtError] it may be accepted: send it again with the id that the error has.
// After any other error it is not. Send waits for the store no longer than
// Options.StoreTimeout. Errors: [ErrOverloaded], [ErrBudget], [ErrStuck],
// [ErrClosed], [ErrTimeout], a [*ConversationError].
func (f *Fleet) Send(ctx context.Context, key string, p Prompt) (id string, err error) {
	carrier, sent := f.admission.sending(ctx, key, p.ID)
	bounded, end := f.bounds.bound(ctx, key)
	id, err = f.admission.send(bounded, key, p, carrier)
	end(&err)
	sent(id, err)
	return id, err
}

// Run sends a prompt when you range over it, and yields the output of the CLI: all
// messages if the conversation runs in this process, otherwise only the result. The
// result comes last. If it is an error, a [*FailedError] follows. If the prompt gets no
// further by itself, the loop ends with a [*DeferredError], because it waits for a
// person, a [*StuckError] or a [*BudgetError]. A prompt that the budget of a day holds
// back also ends the loop with a BudgetError, and continues when the day is over.
//
// If you leave the loop, you only stop watching: the prompt was accepted and
// will be answered. This differs from [claude.Session.Run].
func (f *Fleet) Run(ctx context.Context, key, prompt string) iter.Seq2[message.Message, error] {
	return f.RunPrompt(ctx, key, Prompt{Text: prompt})
}

// RunPrompt is like Run with any prompt.
func (f *Fleet) RunPrompt(ctx context.Context, key string, p Prompt) iter.Seq2[message.Message, error] {
	return func(yield func(message.Message, error) bool) {
		if err := checkKey(f.opts.Project, key); err != nil {
			yield(nil, err)
			return
		}
		own := p
		if own.ID == "" {
			own.ID, own.fresh = newID(), true
		}
		w := f.roster.watch(key, own.ID)
		defer f.roster.unwatch(key, own.ID, w)
		if _, err := f.Send(ctx, key, own); err != nil {
			yield(nil, err)
			return
		}
		if p.ID != "" {
			w.recheck() // it may have been sent before, and have ended
		}
		f.reports.follow(ctx, key, own.ID, w, yield)
	}
}

// Wait returns how a prompt ended, as soon as it has, whichever process has sent it and
// runs it. If it was not answered, the error is a [*FailedError]. Wait waits for a
// prompt that waits for a person, or for the next day because the budget of this one is
// spent: days, if ctx allows. It does not wait for one that cannot get any further
// without an operator: then the error is a [*StuckError] or a [*BudgetError], and the
// ticket shows its state. A prompt that the conversation does not have, or no longer
// has (see Options.Keep), is [ErrUnknown].
//
// When ctx ends, the error is its cause, and the ticket has the last known state. The
// prompt itself is not affected. An unreadable store is asked again until then.
func (f *Fleet) Wait(ctx context.Context, key, id string) (Ticket, error) {
	if err := checkKey(f.opts.Project, key); err != nil {
		return Ticket{}, err
	}
	w := f.roster.watch(key, id)
	defer f.roster.unwatch(key, id, w)
	last := Ticket{Prompt: id}
	for {
		t, rec, err := f.reports.ticket(ctx, key, id)
		if err == nil {
			last = t
			if over, err := f.reports.reached(ctx, &rec, t); over {
				return t, err
			}
		} else if final(err) {
			return last, err
		}
		if stop := f.reports.untilNews(ctx, w); stop != nil {
			if err != nil && ctx.Err() != nil && !errors.Is(err, stop) {
				stop = fmt.Errorf("%w; %w", stop, err)
			}
			return last, stop
		}
	}
}

// Prompt returns the ticket of a prompt, or [ErrUnknown].
func (f *Fleet) Prompt(ctx context.Context, key, id string) (t Ticket, err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	t, _, err = f.reports.ticket(ctx, key, id)
	return t, err
}

// Cancel removes a prompt that has not begun, or one that its conversation is stuck on.
// When it returns nil, no CLI gets the prompt again; that includes one that was
// cancelled before. If its turn waits at a deferred call, the call is refused, and the
// model reads so when the conversation next wakes. Prompts that its turn has taken in
// are cancelled with it. One that steers and that the CLI of this process has, but has not
// begun, is withdrawn from it. For any other prompt that has begun it returns [ErrBegun];
// interrupt that one instead. After any other error the prompt may have been cancelled:
// call Cancel again, or ask [Fleet.Prompt].
func (f *Fleet) Cancel(ctx context.Context, key, id string) (err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	if err := checkKey(f.opts.Project, key); err != nil {
		return err
	}
	for {
		// The prompt is read first: if a retry frees it after the record was read, it
		// has changed, and the mark is refused.
		p, err := f.records.find(ctx, key, id)
		if err != nil {
			return &ConversationError{key, err}
		}
		rec, err := f.records.load(ctx, key)
		if err != nil {
			return err
		}
		if p == nil {
			return f.records.cancelledBefore(ctx, key, id)
		}
		stuckHere := rec.Stuck != nil && rec.Stuck.Prompt == id
		if p.Cancelled.IsZero() {
			if p.Sent && !stuckHere {
				if p.Steer && f.roster.withdraw(ctx, key, id) {
					continue // now it has not begun
				}
				return &ConversationError{key, ErrBegun}
			}
			err := f.records.markCancelled(ctx, p)
			if errors.Is(err, store.ErrConflict) {
				continue // it may have begun
			}
			if err != nil {
				return &ConversationError{key, err}
			}
		}
		return f.endings.finishCancel(ctx, &rec, p, stuckHere)
	}
}

// Interrupt stops the turn of a conversation. When it returns nil, that is stored: no
// other process lets a call of the turn begin, and if the process that runs the turn
// dies, the next one does not continue it. A turn that is about to begin, because the
// CLI still starts, is stopped as soon as it has begun. If no CLI works on it, because
// it waits for a person, or its CLI has failed and it would be tried again, its prompt
// ends, and its ticket has Interrupted set; when the conversation next wakes, the model
// reads that a deferred call was not made. Interrupt means the turn at the time of the
// call: if it ends meanwhile, the next one is not stopped. Prompts behind it stay. An
// idle conversation is left alone. If another process runs it and Options.Bus does not
// reach that process, it learns about the interrupt when the store announces the mark, or
// within Options.Poll.
func (f *Fleet) Interrupt(ctx context.Context, key string) error {
	bounded, end := f.bounds.bound(ctx, key)
	prompt, err := f.endings.interrupt(bounded, key, "")
	end(&err)
	if !errors.Is(err, ErrElsewhere) {
		return err
	}
	err = f.peers.instruct(ctx, key, instruction{Interrupt: true, Prompt: prompt})
	if errors.Is(err, errNoReply) || ctx.Err() != nil {
		return nil // the mark is stored, and reaches it
	}
	return err
}

// Rewind restores the files that Claude has changed, and returns which. It needs
// [claude.Options].FileCheckpointing, and the machine on which the files were changed.
// The messages stay; [Fleet.Fork] copies them up to a message.
//
// It takes its turn behind the prompts that were sent before, wakes the conversation if
// it sleeps, and returns when it is done. If ctx ends before it has begun, it is taken
// back. It waits for agents in the background, half a minute at most. A result without
// CanRewind has changed nothing, and explains why. Errors: [ErrUnknown], [ErrStuck], a
// [*FailedError], and those of Send.
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
	w := f.roster.watch(key, r.ID)
	defer f.roster.unwatch(key, r.ID, w)
	if _, err := f.Send(ctx, key, Prompt{ID: r.ID, rewind: &r, fresh: fresh}); err != nil {
		// It may have been accepted, and the caller no longer waits for it.
		return control.Rewind{}, errors.Join(err, f.takeBackRewind(ctx, key, r.ID))
	}
	w.recheck() // it may have been sent before, and have ended
	for {
		w.take(ctx, f.ear.pollEvery())
		o, rec, err := f.reports.ticket(ctx, key, r.ID)
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

// takeBackRewind cancels a rewind whose caller has gone. If it has begun, it is done
// anyway, which is not an error.
func (f *Fleet) takeBackRewind(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askBound)
	defer cancel()
	if err := f.Cancel(ctx, key, id); !errors.Is(err, ErrBegun) && !errors.Is(err, ErrUnknown) {
		return err
	}
	return nil
}

// Retry lets a conversation that is stuck try again. One that is not stuck is left
// alone.
func (f *Fleet) Retry(ctx context.Context, key string) (err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	if err := checkKey(f.opts.Project, key); err != nil {
		return err
	}
	err = f.records.resetAttempts(ctx, key)
	for errors.Is(err, store.ErrConflict) { // another caller retries as well, or cancels the prompt
		err = f.records.resetAttempts(ctx, key)
	}
	if err == nil {
		_, err = f.records.change(ctx, key, store.Fence{}, func(r *record) error {
			if r.Stuck == nil {
				return errUnchanged
			}
			r.Stuck = nil
			return nil
		})
	}
	if err == nil {
		f.roster.want(key)
	}
	return err
}

// Prewarm starts the CLI of a conversation ahead of its next prompt, for example when a
// person opens its page, so that the answer does not wait for the start. It returns when
// the CLI is ready, and otherwise with the error of the start, after which the next prompt
// starts one as usual. The CLI uses a free slot until Options.IdleAfter has passed, and
// gives it up at once when a conversation with a prompt needs it. Prewarm does nothing if
// no slot is free, and leaves alone a conversation that is awake, has prompts, waits for a
// person, is stuck, or has spent its budget. If the last CLI of the conversation is just
// ending, Prewarm waits for that first. It counts as no attempt. A fleet that does not run
// the conversation, by [NoCLIs] or Options.Runs, returns [ErrElsewhere].
func (f *Fleet) Prewarm(ctx context.Context, key string) error {
	rec, err := f.loadBounded(ctx, key)
	if err != nil {
		return err
	}
	if f.opts.MaxLive == NoCLIs || !f.roster.runs(key) {
		return &ConversationError{key, ErrElsewhere}
	}
	if rec.Stuck != nil {
		return nil
	}
	for {
		done, left, err := f.roster.prewarm(key)
		if done == nil && left == nil {
			return err
		}
		select {
		case err := <-done:
			return err
		case <-left: // it sleeps now
		case <-ctx.Done():
			return &ConversationError{key, context.Cause(ctx)}
		}
	}
}

// loadBounded reads the record of a conversation.
func (f *Fleet) loadBounded(ctx context.Context, key string) (rec record, err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	return f.records.load(ctx, key)
}
