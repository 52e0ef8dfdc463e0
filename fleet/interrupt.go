package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/store"
)

// A user who interrupts a conversation means the turn that they see. By the time the
// store has answered, that turn may be over and the next one may run. So an interrupt
// names its turn by the prompt, before the store is asked anything else, and does
// nothing to another.
//
// The prompt is marked in the store first, and the interrupt counts from then on: the
// process that reads the prompt next, even after a crash, starts no CLI for it and ends
// it. A process that has read the prompt before must write it before it starts one, and
// fails the compare-and-set because the prompt has changed. That leaves the turn that
// runs. Its process is notified: directly if it is this one, over the Bus, or
// by the mark, which it finds when the store announces the change or is polled.
//
// The CLI does not name turns: it stops whatever runs when it reads the request. So
// before the CLI is given another prompt, all interrupts of the turn have been written,
// or never will be. While the CLI starts for a turn, or has just been given the prompt,
// it would ignore an interrupt: the request is kept, and the turn is interrupted as
// soon as it begins.

// interrupt interrupts the turn of a prompt; if the prompt is empty, the turn that runs
// now. It returns the prompt, if known. The error matches ErrElsewhere if the prompt is
// marked and another process may run the turn.
func (e *endings) interrupt(ctx context.Context, key, prompt string) (string, error) {
	now := e.roster.turnOf(key)
	if prompt == "" && now != nil {
		prompt = now.prompt
	}
	if prompt == "" {
		// Only the store knows which turn runs elsewhere, or ran before. This is the
		// first thing to ask: a moment later it may name another prompt.
		p, err := e.records.begunPrompt(ctx, key)
		if err != nil {
			return "", err
		}
		if p != nil {
			prompt = p.ID
		}
	}
	rec, err := e.records.load(ctx, key)
	if err != nil {
		return prompt, err
	}
	if prompt == "" {
		return "", e.interruptTurn(ctx, key, "", now)
	}
	if rec.Stuck != nil {
		return prompt, nil
	}
	if marked, err := e.records.markInterrupted(ctx, key, prompt); err != nil || !marked {
		return prompt, err
	}
	if here := e.roster.leaveWord(key, prompt); !here {
		return prompt, e.interruptAsleep(ctx, key)
	}
	err = e.interruptTurn(ctx, key, prompt, nil)
	e.roster.want(key) // between two turns it looks at the prompt again
	return prompt, err
}

// lookInterrupted checks whether another process has marked a prompt whose turn runs
// here, after a change to the prompt that was made without the lease. The lock of the
// fleet is held.
func (e *endings) lookInterrupted(c *conversation, p *queued) {
	t := c.turn
	if t == nil || t.prompt != p.ID || c.interrupted == p.ID {
		return
	}
	t.interrupts.Go(func() {
		now, err := e.records.reread(t.ctx, p)
		if err != nil || now.Interrupted.IsZero() {
			return // the next look at all prompts finds it
		}
		e.roster.mu.Lock()
		defer e.roster.mu.Unlock()
		e.noticeInterrupted(c, now.ID)
	})
}

// noticeInterrupted interrupts the turn of a prompt that another process has marked, if it
// runs here. The lock of the fleet is held.
func (e *endings) noticeInterrupted(c *conversation, prompt string) {
	t := c.turn
	if t == nil || t.prompt != prompt || c.interrupted == prompt {
		return
	}
	c.interrupted = prompt
	t.interrupts.Go(func() {
		if err := e.interruptTurn(t.ctx, c.key, prompt, nil); err != nil && t.ctx.Err() == nil {
			e.opts.Logger.Warn("a turn was not interrupted", "conversation", c.key, "prompt", prompt, "error", err)
		}
	})
}

// interruptTurn interrupts what the conversation works on here: the turn of a prompt,
// or without one whatever the CLI does by itself between two turns.
func (e *endings) interruptTurn(ctx context.Context, key, prompt string, between *turn) (err error) {
	e.roster.mu.Lock()
	c := e.roster.active[key]
	if c == nil || c.turn == nil || c.turn.prompt != prompt || prompt == "" && c.turn != between {
		e.roster.mu.Unlock()
		return nil
	}
	t, s := c.turn, c.session
	if prompt != "" {
		c.interrupted = prompt
	}
	deferred := t.step == finish && !t.begun
	if t.ctx.Err() != nil || !t.works() || s == nil && !deferred {
		e.roster.mu.Unlock()
		return nil
	}
	t.interrupts.Add(1)
	e.roster.mu.Unlock()
	defer t.interrupts.Done()
	told, cancel := context.WithCancel(withoutBound(ctx)) // the CLI is told, not the store
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	ctx, cancelStore := context.WithCancel(ctx)
	defer cancelStore()
	defer context.AfterFunc(t.ctx, cancelStore)()
	if deferred {
		err = e.asked.withdrawCall(ctx, key, t.fence)
	}
	if s != nil {
		_, interrupted := s.Interrupt(told)
		err = errors.Join(err, interrupted)
	}
	if t.ctx.Err() != nil {
		return nil // it was over first
	}
	return err
}

// interruptAsleep ends a marked prompt that no process works on, as a free lease shows:
// it waits for a person, the last attempt has failed, or its process has died.
func (e *endings) interruptAsleep(ctx context.Context, key string) error {
	err := e.asleep(ctx, key)
	e.roster.want(key) // once awake, it ends what this could not
	if errors.Is(err, store.ErrLeased) {
		return &ConversationError{key, ErrElsewhere}
	}
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return nil // the mark is stored, and counts
	}
	return err
}

// interrupted is the outcome of a marked prompt that no CLI works on.
func (p *queued) interrupted(rec *record) Ticket {
	return Ticket{Prompt: p.ID, Status: PromptFailed, Interrupted: true, Error: "it was interrupted", Session: rec.Session, Cost: rec.Spent[p.ID].Ledger}
}
