package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// tenure is the time for which this process holds the lease of a conversation. It has
// the state of the conversation in that time, and records what happens to its prompts.
type tenure struct {
	*house
	c     *conversation
	lease *owned
	stop  <-chan struct{} // closed when its work must end
	rec   record
	queue map[string]bool // the ids of the prompts without an outcome, as of the last look

	steered *steered // what the CLI that runs has besides the prompt of its turn

	traceDone func(TraceOutcome) map[string]string // of the step; nil if it is not traced
}

// change changes the record of the conversation.
func (w *tenure) change(ctx context.Context, do func(*record) error) error {
	rec, err := w.records.change(ctx, w.c.key, w.lease.Fence, do)
	if err == nil {
		w.rec = rec
	}
	return err
}

// amend changes a prompt as the owner of its conversation. If it was changed since it
// was read, because its turn was interrupted, it is read again, and keeps that change.
func (w *tenure) amend(ctx context.Context, p *queued, change func(*queued)) error {
	for {
		change(p)
		err := w.records.update(ctx, p, w.lease.Fence)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		now, err := w.records.reread(ctx, p)
		if err != nil {
			return err
		}
		*p = *now
	}
}

// persist retries a write of something that only this process knows, until it must
// stop or ctx ends.
func (w *tenure) persist(ctx context.Context, write func() error) error {
	for attempt := 0; ; attempt++ {
		err := write()
		if err == nil || errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNewer) {
			return err
		}
		select {
		case <-w.lease.lost:
			return err
		case <-w.stop:
			return err
		default:
		}
		w.opts.Logger.Warn("the outcome of a turn is not stored yet", "conversation", w.c.key, "error", err)
		if !pause(ctx, retryDelay(attempt)) {
			return err
		}
	}
}

// over reports whether nothing more may be begun: the fleet closes, the lease is
// lost, or the conversation is deleted.
func (w *tenure) over() bool {
	select {
	case <-w.closing:
		return true
	case <-w.lease.lost:
		return true
	case <-w.stop:
		return true
	default:
		return w.ctx.Err() != nil
	}
}

// ended gives the prompt of a step its outcome.
func (w *tenure) ended(ctx context.Context, p *queued, o Ticket) error {
	if err := w.conclude(ctx, p, &o); err != nil {
		return err
	}
	w.told(p, o)
	return nil
}

// told reports the end of a step's prompt to its watchers.
func (w *tenure) told(p *queued, o Ticket) {
	w.worked(p, TraceOutcome{Status: o.Status})
	w.news.finished(w.c, o)
}

// conclude writes the outcome of a prompt.
func (w *tenure) conclude(ctx context.Context, p *queued, o *Ticket) error {
	now, err := w.clock.about(ctx, w.store)
	if err != nil {
		return err
	}
	o.Ended, o.Prompt, o.Cost = now, p.ID, w.rec.Spent[p.ID].Ledger
	if err := w.records.end(ctx, w.c.key, p, *o, w.lease.Fence); err != nil {
		return err
	}
	w.out(p)
	return nil
}

// out forgets a prompt that has its outcome.
func (w *tenure) out(p *queued) {
	w.roster.ended(w.c, p)
	w.steered.forget(p.ID)
	delete(w.queue, p.ID)
}

// stuck gives up a conversation whose prompt was begun too often, or cannot be run.
func (w *tenure) stuck(ctx context.Context, p *queued, reason string) error {
	now, err := w.store.Now(ctx)
	if err != nil {
		return err
	}
	at := stuck{Prompt: p.ID, Reason: reason, Cause: p.Cause, At: now, Untold: true}
	_, err = w.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
		r.Stuck = &at
		return nil
	})
	if err == nil {
		w.isStuck()
		w.news.publishAll(w.c, &StuckError{w.c.key, p.ID, reason, p.Cause}) // prompts behind it do not begin either
		err = w.persist(ctx, func() error { return w.tellStuck(ctx, &at) })
	}
	return err
}

// isStuck notes that the conversation sleeps until it is freed.
func (w *tenure) isStuck() {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	w.c.stuck = true
}

// tellStuck marks a prompt that its conversation is stuck on, unless that was done. The
// record tracks it, so that after a crash in between the next owner does it.
func (w *tenure) tellStuck(ctx context.Context, at *stuck) error {
	if !at.Untold {
		return nil
	}
	e := outcomelog.Entry{Key: w.c.key, Prompt: at.Prompt, Status: string(PromptStuck), At: at.At}
	mark, err := w.log.Mark(outcomeName(w.c.key, "stuck-"+at.Prompt), e, w.lease.Fence)
	if err == nil {
		err = w.log.PutMark(ctx, mark, w.lease.Fence)
	}
	if err != nil {
		return err
	}
	_, err = w.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
		if r.Stuck == nil || !r.Stuck.Untold {
			return errUnchanged
		}
		told := *r.Stuck
		told.Untold = false
		r.Stuck = &told
		return nil
	})
	return err
}

// traced returns the context for a step.
func (w *tenure) traced(ctx context.Context, s step, p *queued) context.Context {
	t := w.opts.Trace
	if t == nil || t.Running == nil {
		return ctx
	}
	work := map[step]TraceWork{send: WorkBegins, await: WorkBegins, finish: WorkDecided, resume: WorkResumed, rewind: WorkRewinds}[s]
	own, done := t.Running(ctx, TracePrompt{w.c.key, p.ID, work, p.Begun, p.Accepted, p.Carrier})
	w.traceDone = done
	if own == nil {
		return ctx
	}
	return own
}

// worked reports how the step ended, once.
func (w *tenure) worked(p *queued, o TraceOutcome) {
	if done := w.traceDone; done != nil {
		w.traceDone = nil
		p.Carrier = done(o)
	}
}

// decline ends the rest, and lets a prompt that was offered be queued.
func (w *tenure) decline() {
	w.roster.mu.Lock()
	o := w.c.offered
	w.c.resting, w.c.offered = false, nil
	w.roster.mu.Unlock()
	if o != nil {
		o.answer <- errDeclined
	}
}

// offered takes the prompt that is offered, if nothing else is to be done; nil otherwise.
func (w *tenure) offered() *offer {
	w.roster.mu.Lock()
	o := w.c.offered
	busy := w.c.Wanted || len(w.c.waiting) > 0
	if o != nil && !busy {
		w.c.resting, w.c.offered = false, nil
	}
	w.roster.mu.Unlock()
	if busy {
		w.decline()
		return nil
	}
	return o
}

// recheckAll makes the watchers of prompts look at the store: the conversation failed,
// and announcements about it in the meantime were taken for its own.
func (w *tenure) recheckAll() {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	w.c.recheckAll()
}

// backoff is how long to wait after a failure.
func (w *tenure) backoff(p *queued) time.Duration {
	if p == nil {
		return retryAfter
	}
	return retryAfter << min(p.Begun+p.Starts, 6)
}
