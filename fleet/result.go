package fleet

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// turn gives a prompt to the CLI, or lets the CLI continue it, and returns the result.
// The files are saved before any watcher learns about it.
func (w *worker) turn(ctx context.Context, s step, p *queued) (r *message.Result, err error) {
	w.apiError = ""
	var stream iter.Seq2[message.Message, error]
	if s != send {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		go mustBegin(ctx, cancel, w.session)
		stream = w.session.Messages(ctx)
	} else {
		// A context that ends would interrupt the turn, and the transcript would then
		// name the user as the cause. The session ends when it must.
		stream = w.session.RunMessage(context.WithoutCancel(ctx), &message.User{Header: message.Header{UUID: p.ID}, Content: p.Content})
	}
	if s != send {
		w.interruptIfWanted(w.session) // it works already
	}
	began, stop := w.steering()
	defer stop()
	say := func(m message.Message) {
		w.see(m)
		w.news.publish(w.c, p.ID, m, nil)
		w.passOn(m, p.ID)
	}
	for m, err := range stream {
		if err != nil {
			if _, failed := err.(*claude.ResultError); failed && r != nil {
				break // its result reports it; joined with another error, it is not stored
			}
			return nil, err
		}
		result, ok := m.(*message.Result)
		answers := ok && (s == finish || s == resume || slices.Contains(result.Prompts, p.ID))
		if answers && result.DeferredToolUse == nil {
			w.turnEnded()
		}
		if answers && s == send {
			r = result
			continue // an error follows if the transcript does not have what it answers
		}
		if ok {
			if err := w.session.Flush(ctx); err != nil {
				return nil, err // it answers something that the transcript does not have
			}
		}
		if answers {
			w.saveFiles()
		}
		say(m)
		switch m := m.(type) {
		case *message.Init:
			w.begun(w.session) // before the CLI is given more, which no interrupt of this turn may stop
			began()
		case *message.Result:
			if answers {
				r = m
			} else if err := w.others(ctx, m, p.ID); err != nil {
				return nil, err
			}
		}
		if r != nil && s != send {
			return r, nil
		}
	}
	if r == nil {
		return nil, claude.ErrNoResult
	}
	w.saveFiles()
	say(r)
	return r, nil
}

// begun notes that the CLI has begun the turn, and interrupts it if an interrupt is
// pending.
func (w *worker) begun(s *claude.Session) {
	w.roster.mu.Lock()
	w.c.turn.begun = true
	w.roster.mu.Unlock()
	w.interruptIfWanted(s)
}

// interruptIfWanted interrupts the turn if an interrupt is pending.
func (w *worker) interruptIfWanted(s *claude.Session) {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	t := w.c.turn
	if t.prompt == "" || w.c.interrupted != t.prompt {
		return
	}
	t.interrupts.Go(func() {
		if _, err := s.Interrupt(t.ctx); err != nil && t.ctx.Err() == nil && !w.over() {
			w.opts.Logger.Warn("a turn was not interrupted when it began", "conversation", w.c.key, "prompt", t.prompt, "error", err)
		}
	})
}

// result records how a turn ended: its cost, and its outcome or the question that it
// waits for.
func (w *worker) result(ctx context.Context, p *queued, r *message.Result) error {
	if err := w.settle(ctx, r); err != nil {
		return err
	}
	if r.DeferredToolUse == nil && !w.tookIn(r, p.ID) {
		return w.answered(ctx, p, r)
	}
	if err := w.count(ctx, r, p.ID); err != nil {
		return err
	}
	if r.DeferredToolUse != nil {
		return w.deferred(ctx, p) // and what the turn took in ends with it
	}
	if err := w.endOthers(ctx, r, p.ID, p.ID); err != nil {
		return err
	}
	return w.persist(ctx, func() error { return w.ended(ctx, p, w.ticket(r)) })
}

// ticket is the state of the prompts that a result answers.
func (w *worker) ticket(r *message.Result) Ticket {
	o := Ticket{Status: PromptAnswered, Text: r.Text, Result: r, Output: r.StructuredOutput, Session: w.rec.Session, Interrupted: r.Interrupted()}
	if r.Failed() {
		o.Status, o.Error = PromptFailed, (&claude.ResultError{Result: r}).Error()
		o.APIError = w.apiError
	}
	return o
}

// tookIn reports whether a result also answers prompts that the turn of another has
// taken in.
func (w *worker) tookIn(r *message.Result, but string) bool {
	return w.steered != nil && len(w.steered.answered(r, but)) > 0
}

// answered records that a result answers a prompt, and only this one.
func (w *worker) answered(ctx context.Context, p *queued, r *message.Result) error {
	add := w.counting(r, p.ID)
	return w.persist(ctx, func() error {
		if err := w.answeredAtOnce(ctx, p, r, add); !refused(err) {
			return err
		}
		// Another writer was faster, or an earlier attempt was made and its reply lost.
		if err := w.change(ctx, add); err != nil {
			return err
		}
		return w.ended(ctx, p, w.ticket(r))
	})
}

// answeredAtOnce is answered if no other writer has changed the record of the
// conversation since it was last read; otherwise it is refused.
func (w *worker) answeredAtOnce(ctx context.Context, p *queued, r *message.Result, add func(*record) error) error {
	rec := w.rec.clone()
	if rec.revision == 0 || add(&rec) != nil {
		return store.ErrConflict // what is known of it is not enough
	}
	o := w.ticket(r)
	o.Session, o.Prompt, o.Cost = rec.Session, p.ID, rec.Spent[p.ID].Ledger
	var err error
	if o.Ended, err = w.clock.about(ctx, w.store); err != nil {
		return err
	}
	usd := rec.Cost.USD - w.rec.Cost.USD
	day, err := w.days.charge(ctx, &rec, usd)
	if err != nil {
		return err
	}
	conversation, err := w.records.changeTo(kindConversation, place(w.c.key), &rec, rec.revision)
	if err != nil {
		return err
	}
	changes := []store.RecordChange{conversation}
	if day != nil {
		changes = append(changes, *day)
	}
	next, err := w.records.endAtOnce(ctx, w.c.key, p, o, w.lease.Fence, changes...)
	if err != nil {
		return err
	}
	w.days.charged(&rec, usd)
	rec.revision = next[0]
	w.rec = rec
	w.out(p)
	if w.days == nil {
		w.rest() // before watchers learn that it has ended, and send the next
		w.told(p, o)
	} else {
		w.told(p, o)
		w.rest() // which asks the store what was spent today: no caller should wait for that
	}
	return nil
}

// deferred lets a prompt wait for a person. Nothing more may be sent to the CLI, or it
// gives the call up.
func (w *worker) deferred(ctx context.Context, p *queued) error {
	question, asked := "", false
	if w.gate != nil {
		question, asked = w.gate.Deferred()
	}
	err := w.close()
	w.worked(p, TraceOutcome{Status: PromptWaiting, Question: question})
	carrier := p.Carrier
	err = errors.Join(err, w.amend(ctx, p, func(p *queued) {
		p.Question, p.Carrier = question, carrier
		if asked {
			p.startAgain() // it got somewhere
		}
	}))
	if !w.rests(p) {
		return err // it was interrupted in the moment in which it was deferred, and ends with the next look
	}
	w.news.publish(w.c, p.ID, nil, &DeferredError{w.c.key, p.ID, p.Question})
	return err
}

// rest lets prompts be offered: the conversation is idle.
func (w *worker) rest() {
	ready := w.ready()
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	w.c.resting = ready
}

// ready reports whether a prompt that comes now can begin at once. Only the owner of
// the lease makes a conversation stuck, counts its cost and deletes it, so the last
// read of its record is still true in this respect.
func (w *worker) ready() bool {
	known := w.rec.revision != 0 && w.rec.Stuck == nil && w.rec.Unsettled == "" && !w.inDoubt
	return known && w.session != nil && !w.given("") && !w.over() && w.budgets.budget(w.ctx, &w.rec) == nil
}

// listen reads what the CLI produces by itself until ctx or the session ends.
func (w *worker) listen(ctx context.Context) {
	for m, err := range w.session.Messages(ctx) {
		if err != nil {
			return
		}
		w.see(m)
		w.news.publish(w.c, "", m, nil)
		if r, ok := m.(*message.Result); ok {
			if err := w.count(w.ctx, r, ""); err != nil {
				w.opts.Logger.Warn("a turn could not be counted", "conversation", w.c.key, "error", err)
			}
			if err := w.settleRest(w.ctx); err != nil {
				w.opts.Logger.Warn("questions of a turn are left open", "conversation", w.c.key, "error", err)
			}
		}
	}
}
