package fleet

import (
	"context"
	"errors"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/store"
)

// One who interrupts a conversation means the turn that they see. By the time that the
// store has answered, it may be over and the next one may run. So an interrupt names its
// turn by the prompt, before the store is asked, and does nothing to another. The CLI
// knows no such names: it stops what runs when it reads the request. So all interrupts of
// a turn have been written, or never will be, before the CLI is given another prompt.
//
// A CLI that is asked to interrupt a turn which has not begun does nothing. So one who
// interrupts a conversation whose CLI starts, or has just been given a prompt, leaves
// word, and the turn is interrupted as soon as it begins.

// turn is what a conversation that is awake works on. The lock of the fleet guards what
// can change.
type turn struct {
	prompt string // the prompt of the turn; empty between turns, when a CLI may work by itself
	step   step
	fence  store.Fence
	begun  bool // the CLI says so

	ctx        context.Context // ends with the turn, as soon as the CLI says so
	end        context.CancelFunc
	interrupts sync.WaitGroup // those that are being made
}

// works reports whether the CLI has something to do for the turn, although it may not
// have said that the turn has begun: it makes a deferred call before that.
func (t *turn) works() bool { return t.begun || t.step != send }

// nextTurn makes a turn the one that the conversation works on, when no interrupt of the
// one before can reach the CLI any longer.
func (w *waking) nextTurn(prompt string, s step) {
	t := &turn{prompt: prompt, step: s, fence: w.lease.Fence}
	t.ctx, t.end = context.WithCancel(w.f.ctx)
	w.setTurn(t)
}

// noTurn says that the conversation works on nothing more.
func (w *waking) noTurn() { w.setTurn(nil) }

func (w *waking) setTurn(t *turn) {
	w.f.mu.Lock()
	before := w.c.turn
	w.c.turn = t
	w.f.mu.Unlock()
	if before != nil {
		before.end()
		before.interrupts.Wait()
	}
}

// begins notes that the turn of a prompt is about to begin, until done is called. If the
// attempt failed, word that was left stays for the next one.
func (w *waking) begins(p *queued, s step) (done func(failed bool)) {
	w.nextTurn(p.ID, s)
	return func(failed bool) {
		w.nextTurn("", sleep)
		w.f.mu.Lock()
		defer w.f.mu.Unlock()
		if !failed && w.c.interrupted == p.ID {
			w.c.interrupted = ""
		}
	}
}

// begun notes that the CLI has begun with the turn, and interrupts it if somebody has
// left word.
func (w *waking) begun(s *claude.Session) {
	w.f.mu.Lock()
	w.c.turn.begun = true
	w.f.mu.Unlock()
	w.interruptIfWanted(s)
}

// turnEnded notes that the CLI has ended the turn. While its outcome is stored, the CLI may
// begin by itself with a prompt that came too late to steer it, and no interrupt of this
// turn may stop that one.
func (w *waking) turnEnded() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.c.turn.end()
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

// Interrupt stops the turn of a conversation, or withdraws the question that it
// waits for: the model then reads that the call was not made. A turn that is about
// to begin, because the CLI still starts, is stopped as soon as it has begun. It is the
// turn at the time of the call: if it ends meanwhile, the next one is not stopped. Prompts
// behind it stay. A conversation that does nothing is left alone. If another process runs
// it and Options.Elsewhere does not reach it, Interrupt returns [ErrElsewhere].
func (f *Fleet) Interrupt(ctx context.Context, key string) error {
	prompt, err := f.interrupt(ctx, key, "")
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
	rec, err := f.loadRecord(ctx, key)
	if err != nil {
		return prompt, err
	}
	if done, err := f.interruptTurn(ctx, key, prompt, now); done || err != nil {
		return prompt, err
	}
	// It does not run here, or no longer.
	p, err := f.begunPrompt(ctx, key, prompt)
	if err != nil || p == nil || rec.Stuck != nil {
		return prompt, err
	}
	if p.Question != "" {
		err := f.inbox.Withdraw(ctx, p.Question, approval.Withdrawn, "", store.Fence{})
		if err == nil {
			f.want(key)
		}
		if _, released := errors.AsType[*approval.StateError](err); !released {
			return p.ID, err
		}
	} else if prompt == "" && now != nil {
		// It may have begun after the call, unless nothing has since.
		f.interruptLater(key, p.ID, now)
		return p.ID, nil
	}
	if done, err := f.interruptTurn(ctx, key, p.ID, nil); done || err != nil {
		return p.ID, err
	}
	if f.interruptLater(key, p.ID, now) {
		return p.ID, nil
	}
	return p.ID, &ConversationError{key, ErrElsewhere}
}

// turnOf returns the turn of a conversation that is awake here, nil if it is not.
func (f *Fleet) turnOf(key string) *turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.active[key]; c != nil {
		return c.turn
	}
	return nil
}

// begunPrompt returns a prompt that a CLI may have seen and that has not ended; the first
// if the id is empty. It returns nil if nobody has to do with it.
func (f *Fleet) begunPrompt(ctx context.Context, key, id string) (*queued, error) {
	for p, err := range f.waiting(ctx, key) {
		if err != nil {
			return nil, &ConversationError{key, err}
		}
		if p.Sent && (id == "" || p.ID == id) {
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	if deferred {
		err = f.withdrawCall(ctx, key, t.fence)
	}
	if s != nil {
		_, interrupted := s.Interrupt(ctx)
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

// interruptLater leaves word for the turn of a prompt that this process is about to take
// up, and reports whether it is: because its last attempt has just failed, or because the
// conversation is between two turns and has been since before the prompt was read.
func (f *Fleet) interruptLater(key, prompt string, between *turn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	switch {
	case c == nil:
		return false
	case c.interrupted == prompt:
		return true // word was left, and no turn has ended since
	case between == nil || c.turn != between || between.prompt != "":
		return false
	}
	c.interrupted = prompt
	return true
}
