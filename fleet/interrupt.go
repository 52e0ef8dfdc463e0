package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// One who interrupts a conversation means the turn that they see. By the time that the
// store has answered, it may be over and the next one may run. So an interrupt names its
// turn by the prompt, before the store is asked anything else, and does nothing to another.
//
// The prompt is marked in the store before anything else is done, and the interrupt counts
// from then on: the process that reads the prompt next, be it after a crash, begins no CLI for it
// and ends it. A process that has read the prompt before must write it before it starts
// one, and is refused because the prompt has changed. What is left is the turn that runs.
// Its process is told: directly if it is this one, by Options.Elsewhere, or by the mark,
// which it finds when the store announces the change or is looked at.
//
// The CLI knows no names of turns: it stops what runs when it reads the request. So all
// interrupts of a turn have been written, or never will be, before the CLI is given another
// prompt. While it starts for a turn, or has just been given the prompt, it would ignore
// an interrupt: word is left, and the turn is interrupted as soon as it begins.

// Interrupt stops the turn of a conversation. When it returns nil, that is stored: no other
// process lets a call of the turn begin, and if the one that runs the turn dies, the next
// one does not continue it. A turn that is about to begin, because the CLI still starts, is
// stopped as soon as it has begun. If no CLI works on it, because it waits for a person, or
// its CLI has failed and it would be tried again, its prompt ends, and its ticket says
// that it was interrupted; the model reads that a deferred call was not made when the
// conversation wakes next. It is the turn at the time of the call: if it ends meanwhile,
// the next one is not stopped. Prompts behind it stay. A conversation that does nothing is
// left alone. If another process runs it and Options.Elsewhere does not reach that, it
// learns of the interrupt within Options.Poll.
func (f *Fleet) Interrupt(ctx context.Context, key string) error {
	bounded, end := f.bounds.bound(ctx, key)
	prompt, err := f.interrupt(bounded, key, "")
	end(&err)
	if errors.Is(err, ErrElsewhere) && f.opts.Elsewhere != nil {
		err = f.opts.Elsewhere(ctx, key, Instruction{Interrupt: true, Prompt: prompt})
	}
	if errors.Is(err, ErrElsewhere) {
		return nil // the mark reaches it
	}
	return err
}

// interrupt interrupts the turn of a prompt; if the prompt is empty, the one that runs
// now. It returns the prompt, if it found out. The error matches ErrElsewhere if the prompt
// is marked and another process may run the turn.
func (f *Fleet) interrupt(ctx context.Context, key, prompt string) (string, error) {
	now := f.turnOf(key)
	if prompt == "" && now != nil {
		prompt = now.prompt
	}
	if prompt == "" {
		// What has begun elsewhere, or before, only the store knows. It is asked this
		// first: a moment later it may name another prompt.
		p, err := f.records.begunPrompt(ctx, key)
		if err != nil {
			return "", err
		}
		if p != nil {
			prompt = p.ID
		}
	}
	rec, err := f.records.load(ctx, key)
	if err != nil {
		return prompt, err
	}
	if prompt == "" {
		_, err := f.interruptTurn(ctx, key, "", now)
		return "", err
	}
	if rec.Stuck != nil {
		return prompt, nil
	}
	if marked, err := f.records.markInterrupted(ctx, key, prompt); err != nil || !marked {
		return prompt, err
	}
	if here := f.leaveWord(key, prompt); !here {
		return prompt, f.interruptAsleep(ctx, key, prompt)
	}
	_, err = f.interruptTurn(ctx, key, prompt, nil)
	f.want(key) // between two turns it looks at the prompt again
	return prompt, err
}

// leaveWord lets the turn of a prompt be interrupted when it begins, and reports whether
// the conversation is awake here.
func (f *Fleet) leaveWord(key, prompt string) (here bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	if c == nil || c.turn == nil {
		return false
	}
	if c.turn.prompt == "" || c.turn.prompt == prompt {
		c.interrupted = prompt
	}
	return true
}

// lookInterrupted looks whether another process has marked a prompt whose turn runs here:
// somebody has changed it without the lease. The lock of the fleet is held.
func (f *Fleet) lookInterrupted(c *conversation, p *queued) {
	t := c.turn
	if t == nil || t.prompt != p.ID || c.interrupted == p.ID {
		return
	}
	t.interrupts.Go(func() {
		now, err := f.records.reread(t.ctx, p)
		if err != nil || now.Interrupted.IsZero() {
			return // the next look at all prompts finds it
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.noticeInterrupted(c, now.ID)
	})
}

// noticeInterrupted interrupts the turn of a prompt that another process has marked, if it
// runs here. The lock of the fleet is held.
func (f *Fleet) noticeInterrupted(c *conversation, prompt string) {
	t := c.turn
	if t == nil || t.prompt != prompt || c.interrupted == prompt {
		return
	}
	c.interrupted = prompt
	t.interrupts.Go(func() {
		if _, err := f.interruptTurn(t.ctx, c.key, prompt, nil); err != nil && t.ctx.Err() == nil {
			f.opts.Logger.Warn("a turn was not interrupted", "conversation", c.key, "prompt", prompt, "error", err)
		}
	})
}

// interruptTurn interrupts what the conversation works on here: the turn of a prompt, or
// without one what the CLI does by itself between two turns. It reports whether there
// was something to interrupt.
func (f *Fleet) interruptTurn(ctx context.Context, key, prompt string, between *turn) (done bool, err error) {
	f.mu.Lock()
	c := f.active[key]
	if c == nil || c.turn == nil || c.turn.prompt != prompt || prompt == "" && c.turn != between {
		f.mu.Unlock()
		return false, nil
	}
	t, s := c.turn, c.session
	if prompt != "" {
		c.interrupted = prompt
	}
	deferred := t.step == finish && !t.begun
	if t.ctx.Err() != nil || !t.works() || s == nil && !deferred {
		f.mu.Unlock()
		return prompt != "", nil
	}
	t.interrupts.Add(1)
	f.mu.Unlock()
	defer t.interrupts.Done()
	told, cancel := context.WithCancel(withoutBound(ctx)) // the CLI is told, not the store
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	ctx, cancelStore := context.WithCancel(ctx)
	defer cancelStore()
	defer context.AfterFunc(t.ctx, cancelStore)()
	if deferred {
		err = f.asked.withdrawCall(ctx, key, t.fence)
	}
	if s != nil {
		_, interrupted := s.Interrupt(told)
		err = errors.Join(err, interrupted)
	}
	if t.ctx.Err() != nil {
		return false, nil // it was over first
	}
	return true, err
}

// interruptIfWanted interrupts the turn if somebody has left word.
func (w *waking) interruptIfWanted(s *claude.Session) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	t := w.c.turn
	if t.prompt == "" || w.c.interrupted != t.prompt {
		return
	}
	t.interrupts.Go(func() {
		if _, err := s.Interrupt(t.ctx); err != nil && t.ctx.Err() == nil && !w.over() {
			w.f.opts.Logger.Warn("a turn was not interrupted when it began", "conversation", w.c.key, "prompt", t.prompt, "error", err)
		}
	})
}

// wasInterrupted reports whether somebody has interrupted the turn of a prompt.
func (w *waking) wasInterrupted(p *queued) bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.c.interrupted == p.ID
}

// turnInterrupted reports whether somebody has interrupted the turn. The CLI is given no
// prompt to steer it then: it would begin with that one by itself, and the turn may be
// interrupted more than once.
func (w *waking) turnInterrupted() bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.c.turn.prompt != "" && w.c.interrupted == w.c.turn.prompt
}

// interruptAsleep ends a marked prompt that nobody is at. That is so if its lease is free:
// it waits for a person, the last attempt has failed, or its process has died.
func (f *Fleet) interruptAsleep(ctx context.Context, key, prompt string) error {
	err := f.leases.owning(ctx, key, func(lease *owned) error {
		rec, err := f.records.load(ctx, key)
		if err != nil {
			return err
		}
		p, err := f.records.find(ctx, key, prompt)
		if err != nil || p == nil || !p.Cancelled.IsZero() {
			return err
		}
		t, err := f.asked.transcript(ctx, rec.Session)
		if err != nil {
			return err
		}
		if t != nil {
			if state, _ := t.PromptState(p.ID); state == history.Answered {
				return nil // the next who looks finds the answer
			}
		}
		o, err := f.endInterrupted(ctx, &rec, p, lease.Fence)
		if err != nil {
			return err
		}
		c := f.hold(key)
		defer f.unhold(c)
		f.ended(c, p)
		f.finished(c, o)
		return nil
	})
	f.want(key) // which ends what this could not
	if errors.Is(err, store.ErrLeased) {
		return &ConversationError{key, ErrElsewhere}
	}
	return err
}

// endInterrupted ends a prompt that is marked and that no CLI works on. Its questions go
// first: if this breaks off, the prompt says that there is something to do.
func (f *Fleet) endInterrupted(ctx context.Context, rec *record, p *queued, fence store.Fence) (Ticket, error) {
	o := Ticket{Prompt: p.ID, Status: Failed, Interrupted: true, Error: "it was interrupted", Session: rec.Session, Cost: rec.Spent[p.ID].Ledger}
	if err := f.asked.endQuestions(ctx, rec, fence); err != nil {
		return o, err
	}
	var err error
	if o.Ended, err = f.clock.about(ctx, f.store); err != nil {
		return o, err
	}
	return o, f.records.end(ctx, rec.Key, p, o, fence)
}

// endIfInterrupted ends a prompt that was interrupted, if no CLI works on it. It returns
// errEnded then.
func (w *waking) endIfInterrupted(ctx context.Context, p *queued) error {
	if p.Interrupted.IsZero() && !w.wasInterrupted(p) {
		return nil
	}
	o, err := w.f.endInterrupted(ctx, &w.rec, p, w.lease.Fence)
	if err != nil {
		return err
	}
	w.out(p)
	w.told(p, o)
	return errEnded
}
