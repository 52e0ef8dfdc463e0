package fleet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/store"
)

// waking is a conversation that has a slot and its lease. It takes one step after
// another: it reads the store, and lets its worker take the next step.
type waking struct {
	worker
	turns       int
	prewarmed   chan error // see conversation
	endStart    func()     // ends the context of a start ahead of a prompt; nil: there was none
	shellsSince time.Time  // when only shells began to keep it awake; zero: something else does
}

func newWaking(h *house, c *conversation, lease *owned, stop <-chan struct{}) *waking {
	return &waking{worker: worker{callGate: callGate{tenure{house: h, c: c, lease: lease, stop: stop}, newCalls()}, files: files{provider: h.opts.Workspace}}}
}

// never means that a conversation is not woken again by itself.
const never = time.Duration(-1)

// turnsInARow is how many prompts a conversation may run while others wait for
// its slot.
const turnsInARow = 4

// run lets a conversation use its slot until it sleeps.
func (h *house) run(c *conversation) {
	again := h.use(c)
	h.roster.leave(c, again)
}

// use takes the lease and works until there is nothing to do, others need the
// slot, or something fails. It returns when to try again.
func (h *house) use(c *conversation) (again time.Duration) {
	h.roster.mu.Lock()
	prewarmed := c.prewarmed
	c.prewarmed, c.freed = nil, false
	h.roster.mu.Unlock()
	lease, err := h.leases.own(h.ctx, c.key)
	if err != nil {
		held, isHeld := errors.AsType[*store.HeldError](err)
		h.roster.mu.Lock()
		if prewarmed != nil {
			if isHeld { // it is awake in another process
				prewarmed <- nil
			} else {
				prewarmed <- &ConversationError{c.key, err}
			}
			if !c.Wanted { // by a prompt that has come since
				h.roster.mu.Unlock()
				return never
			}
		}
		c.Wanted, c.Held = true, isHeld
		if isHeld {
			c.interrupted = "" // another process runs its turns
		}
		h.roster.mu.Unlock()
		if isHeld {
			return h.leases.askAgain(held)
		}
		h.opts.Logger.Warn("a conversation cannot be woken", "conversation", c.key, "error", err)
		return retryAfter
	}
	h.roster.mu.Lock()
	w := newWaking(h, c, lease, c.stop)
	w.prewarmed = prewarmed
	c.token = lease.Token
	h.roster.mu.Unlock()
	w.setTurn(w.newTurn("", sleep))
	again = w.work()
	h.roster.mu.Lock()
	c.leaving = true
	h.roster.mu.Unlock()
	w.toldPrewarmed(nil)
	w.decline()
	if err := w.close(); err != nil {
		h.opts.Logger.Error("a conversation did not end well", "conversation", c.key, "error", err)
	}
	w.closeFiles()
	if w.endStart != nil {
		w.endStart()
	}
	w.setTurn(nil)
	w.forgetCalls()
	if lease.isLost() {
		h.roster.mu.Lock()
		c.interrupted = "" // it was meant for what this process did
		h.roster.mu.Unlock()
	}
	if err := lease.release(h.ctx); err != nil {
		h.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", c.key, "error", err)
	}
	if lease.isLost() && again == never {
		return retryAfter // another process may continue; if there is none, this one does
	}
	return again
}

// work does one step after another. It returns when to try again.
func (w *waking) work() time.Duration {
	for {
		if w.over() {
			return never
		}
		s, p, err := w.look()
		if err == nil && s != sleep {
			w.toldPrewarmed(nil) // a prompt was faster, and starts the CLI
			err = w.do(s, p)
			w.turns++
		} else if err == nil {
			w.prewarm()
		}
		if err != nil {
			w.recheckAll()
		}
		switch {
		case err != nil && w.over():
			return never
		case w.newer.skips(w.c.key, err):
			return never // until there is something new
		case err != nil:
			w.opts.Logger.Warn("a turn failed", "conversation", w.c.key, "error", err)
			return w.backoff(p)
		case s == sleep && !w.idle():
			return never
		case s != sleep && w.given(""):
			// The CLI begins with it by itself.
		case s != sleep && w.turns >= turnsInARow && w.roster.pressed():
			return 0 // behind the waiting ones
		case s != sleep:
			w.keepLimits()
		}
	}
}

// look is next, unless there is known to be nothing to do: after a turn whose prompt
// was the last.
func (w *waking) look() (step, *queued, error) {
	if o := w.offered(); o != nil {
		p, err := w.accept(w.ctx, o.p)
		if err == nil {
			p.offer = o
			return send, p, nil
		}
		if !errors.Is(err, errDeclined) {
			w.inDoubt = true
			w.roster.want(w.c.key) // it may be in the queue, and perhaps no other process looks
		}
		o.answer <- err
	}
	if w.turns > 0 && w.roster.nothingNew(w.c) {
		return sleep, nil, nil
	}
	w.decline()
	w.roster.mu.Lock()
	if w.over() { // whatever is wanted now is for the next one who runs the conversation
		w.roster.mu.Unlock()
		return sleep, nil, nil
	}
	w.c.Wanted, w.c.stuck = false, false
	w.roster.mu.Unlock()
	if looks := w.opts.looks; looks != nil {
		return looks(w)
	}
	return w.next(w.ctx)
}

// do takes a step. A prompt is counted as begun before a CLI can see it.
func (w *waking) do(s step, p *queued) (err error) {
	w.shellsSince = time.Time{}
	if s != rewind {
		done := w.begins(p, s)
		defer func() { done(err != nil) }()
	}
	if o := p.offer; o != nil {
		p.offer = nil
		o.answer <- nil // interrupts from now on find its turn
	} else if s != await { // which the CLI was given with this
		err := w.records.update(w.ctx, p, w.lease.Fence)
		if errors.Is(err, store.ErrConflict) {
			return nil // it was cancelled, or is to be tried again: look at it again
		}
		if err != nil {
			return err
		}
	}
	ctx := w.traced(w.ctx, s, p)
	defer func() { w.worked(p, TraceOutcome{Status: PromptRunning, Err: err}) }()
	if s == rewind {
		return w.rewindFiles(ctx, p)
	}
	if s == finish || s == resume || w.session == nil || s == send && w.steered.had(p.ID) {
		w.starts = p.Starts
		if err := w.connect(ctx, s); err != nil {
			return w.failed(p, err)
		}
		p.Starts = 0
	}
	w.going.begin()
	began := time.Now()
	r, err := w.turn(ctx, s, p)
	if err == nil && r != nil {
		w.roster.took(time.Since(began))
		return w.result(ctx, p, r)
	}
	if errors.Is(err, claude.ErrAnswered) {
		err = nil // the transcript has the answer
	}
	return w.failed(p, errors.Join(err, w.close()))
}

// maxFailure is how much of the error of an attempt is kept.
const maxFailure = 2000

// cutFailure is the part of an error that is kept.
func cutFailure(err error) string {
	text := err.Error()
	if len(text) > maxFailure {
		text = strings.ToValidUTF8(text[:maxFailure], "")
	}
	return text
}

// rewindFiles restores files. If the CLI refuses, or does not start, that is the
// outcome: people decide whether to try again. If the store fails, or the lease is in
// doubt, it is tried again.
func (w *waking) rewindFiles(ctx context.Context, p *queued) error {
	t, err := w.asked.transcript(ctx, w.rec.Session)
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
		w.noteLostLease(p, err)
		return err
	}
	w.saveFiles()
	o := Ticket{Status: PromptAnswered, Rewind: done, Session: w.rec.Session}
	if err != nil {
		o.Status, o.Error = PromptFailed, cutFailure(err)
	}
	return w.persist(ctx, func() error { return w.ended(ctx, p, o) })
}

// accept writes an offered prompt as accepted and begun, and returns it as the store
// has it, because the caller of Send may change what it has sent. It returns
// errDeclined if nothing was written: a prompt that was accepted elsewhere waits, or
// something is to be looked at first. After any other error the outcome of the write is
// not known.
func (w *waking) accept(ctx context.Context, offered *queued) (*queued, error) {
	if !w.ready() {
		return nil, errDeclined
	}
	now, err := w.clock.about(ctx, w.store)
	if err != nil {
		return nil, errDeclined
	}
	w.c.takeMore() // nothing waits that could steer
	begun := *offered
	begun.Accepted, begun.Begun, begun.Sent = w.roster.tick(now), 1, true
	name := place(w.c.key) + "/" + begunFolder + "/" + stamp(begun.Accepted, begun.ID)
	change, err := w.records.changeTo(kindPrompt, name, &begun, 0)
	if err != nil {
		return nil, errDeclined
	}
	change.IfEmpty = place(w.c.key)
	next, err := w.store.Change(ctx, w.lease.Fence, change)
	if errors.Is(err, store.ErrInvalid) || refused(err) {
		return nil, errDeclined
	}
	if err != nil {
		return nil, err
	}
	p := &queued{name: name, revision: next[0]}
	if err := decode(store.Record{Key: change.Key, Value: change.Value}, p); err != nil {
		return nil, err
	}
	w.queue, w.deferredCall = map[string]bool{p.ID: true}, nil
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	if !slices.Contains(w.c.waiting, p.name) { // unless a look at the store has just added it
		w.c.waiting = append(w.c.waiting, p.name)
		w.roster.tally(1, 0)
	}
	return p, nil
}
