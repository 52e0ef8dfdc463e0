package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// One who interrupts a conversation means the turn that they see. By the time that the
// store has answered, it may be over and the next one may run. So an interrupt names its
// turn by the prompt, before the store is asked anything else, and does nothing to another.
// The CLI knows no such names: it stops what runs when it reads the request. So all
// interrupts of a turn have been written, or never will be, before the CLI is given another
// prompt.
//
// A turn is found in one of four places:
//
//   - A CLI is at it: the CLI is told to stop.
//   - A CLI starts for it, or has just been given the prompt, and would ignore an
//     interrupt: word is left, and the turn is interrupted as soon as it begins.
//   - It waits for a person: the question is withdrawn.
//   - Its last attempt has failed, and nobody is at it: the prompt is ended in the store.

// Interrupt stops the turn of a conversation, or withdraws the question that it
// waits for: the model then reads that the call was not made. A turn that is about
// to begin, because the CLI still starts, is stopped as soon as it has begun. If its CLI
// has failed, and it would be tried again, it is not: its prompt ends, and its ticket
// says that it was interrupted. It is the turn at the time of the call: if it ends
// meanwhile, the next one is not stopped. Prompts behind it stay. A conversation that does
// nothing is left alone. If another process runs it and Options.Elsewhere does not reach
// it, Interrupt returns [ErrElsewhere].
func (f *Fleet) Interrupt(ctx context.Context, key string) error {
	bounded, end := f.bound(ctx, key)
	prompt, err := f.interrupt(bounded, key, "")
	end(&err)
	if errors.Is(err, ErrElsewhere) && f.opts.Elsewhere != nil {
		return f.opts.Elsewhere(ctx, key, Instruction{Interrupt: true, Prompt: prompt})
	}
	return err
}

// interrupt interrupts the turn of a prompt; if the prompt is empty, the one that runs
// now. It returns the prompt, if it found out. The error matches ErrElsewhere if another
// process may run the turn.
func (f *Fleet) interrupt(ctx context.Context, key, prompt string) (string, error) {
	now := f.turnOf(key)
	if prompt == "" && now != nil {
		prompt = now.prompt
	}
	meant := prompt
	if meant == "" {
		// What has begun elsewhere, or before, only the store knows. It is asked this
		// first: a moment later it may name another prompt.
		p, err := f.begunPrompt(ctx, key, "")
		if err != nil {
			return "", err
		}
		if p != nil {
			meant = p.ID
		}
	}
	rec, err := f.loadRecord(ctx, key)
	if err != nil {
		return meant, err
	}
	if done, err := f.interruptTurn(ctx, key, prompt, now); done || err != nil {
		return meant, err
	}
	if meant == "" || rec.Stuck != nil {
		return meant, nil
	}
	// It did not run here, or does no longer.
	for {
		here := f.turnOf(key)
		p, err := f.begunPrompt(ctx, key, meant)
		if err != nil || p == nil {
			return meant, err
		}
		if done, err := f.interruptBegun(ctx, key, p, here); done || err != nil {
			return meant, err
		}
		if f.turnOf(key) == here { // else it may wait for a person since it was read
			return meant, f.interruptAttempts(ctx, key, meant)
		}
	}
}

// interruptBegun withdraws the question that a prompt waits for, or interrupts its turn if
// that runs here or is about to. It reports whether there was something to do. The prompt
// was read while the conversation worked on a turn, or on none.
func (f *Fleet) interruptBegun(ctx context.Context, key string, p *queued, here *turn) (done bool, err error) {
	if p.Question != "" {
		err := f.inbox.Withdraw(ctx, p.Question, approval.Withdrawn, "", store.Fence{})
		if err == nil {
			f.want(key)
		}
		if _, released := errors.AsType[*approval.StateError](err); !released {
			return true, err
		}
	}
	if f.interruptNext(key, p.ID, here) {
		return true, nil
	}
	return f.interruptTurn(ctx, key, p.ID, nil)
}

// begunPrompt returns a prompt that a CLI may have seen and that has not ended; the first
// if the id is empty. It returns nil if there is nothing to interrupt.
func (f *Fleet) begunPrompt(ctx context.Context, key, id string) (*queued, error) {
	for p, err := range f.waiting(ctx, key) {
		if err != nil {
			return nil, &ConversationError{key, err}
		}
		if p.Sent && p.Rewind == nil && (id == "" || p.ID == id) {
			return p, nil
		}
	}
	return nil, nil
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
		err = f.withdrawCall(ctx, key, t.fence)
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

// withdrawCall withdraws the question about a deferred call, so that the CLI, which is
// about to make it, is told not to. If the call was let go before, it may run.
func (f *Fleet) withdrawCall(ctx context.Context, key string, fence store.Fence) error {
	err := f.withdraw(ctx, key, "", fence)
	if _, released := errors.AsType[*approval.StateError](err); released {
		return nil
	}
	return err
}

// interruptNext leaves word for a prompt that this process is about to take up, and
// reports whether it is: it is between two turns, and has been since before the prompt was
// read.
func (f *Fleet) interruptNext(key, prompt string, between *turn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	if c == nil || between == nil || c.turn != between || between.prompt != "" {
		return false
	}
	c.interrupted = prompt
	return true
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

// interruptAttempts ends a prompt that nobody is at. That is so if its lease is free: the
// last attempt has failed, or its process has died.
func (f *Fleet) interruptAttempts(ctx context.Context, key, prompt string) error {
	err := f.owning(ctx, key, func(lease *owned) error {
		rec, err := f.loadRecord(ctx, key)
		if err != nil {
			return err
		}
		p, err := f.begunPrompt(ctx, key, prompt)
		if err != nil || p == nil || rec.Stuck != nil {
			return err
		}
		t, err := f.transcript(ctx, rec.Session)
		if err != nil {
			return err
		}
		state := history.Unseen
		if t != nil {
			state, _ = t.PromptState(p.ID)
		}
		switch state {
		case history.Answered: // it is over
			return nil
		case history.Deferred:
			return f.withdraw(ctx, key, "", lease.Fence)
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
	if errors.Is(err, store.ErrLeased) {
		return &ConversationError{key, ErrElsewhere}
	}
	if err == nil {
		f.want(key)
	}
	return err
}

// endInterrupted ends a prompt whose last attempt has failed. Its questions go first: if
// this breaks off, the prompt says that there is something to do.
func (f *Fleet) endInterrupted(ctx context.Context, rec *record, p *queued, fence store.Fence) (Ticket, error) {
	o := Ticket{Prompt: p.ID, Status: Failed, Interrupted: true, Error: "it was interrupted, and is not tried again", Session: rec.Session, Cost: rec.Spent[p.ID]}
	if err := f.endQuestions(ctx, rec, fence); err != nil {
		return o, err
	}
	var err error
	if o.Ended, err = f.clock.about(ctx, f.store); err != nil {
		return o, err
	}
	return o, f.end(ctx, rec.Key, p, o, fence)
}

// endIfInterrupted ends a prompt if somebody has left word for it and its attempt has
// failed since. It returns errEnded then.
func (w *waking) endIfInterrupted(ctx context.Context, p *queued) error {
	if !w.wasInterrupted(p) {
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
