package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet/internal/intake"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// steered are the prompts that a CLI was given while a turn ran. The CLI takes one into
// the turn when it has the results of tools, and then names it in its result, or begins
// another turn with it when the first has ended. A prompt is recorded as sent before
// the CLI can see it, so after a crash the transcript shows how far it got: taken in,
// begun, or never seen. Package intake decides; this type acts.
type steered struct {
	busy token      // for giving prompts and taking them back
	mu   sync.Mutex // guards what follows
	in   intake.State[*queued]
}

func newSteered() *steered { return &steered{busy: newToken()} }

// given reports whether the CLI that runs has been given a prompt; any, if the id
// is empty.
func (w *worker) given(id string) bool {
	s := w.steered
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Has(id) || id == "" && s.in.HasAny()
}

// forget removes a prompt that has its outcome.
func (s *steered) forget(id string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.Forget(id)
}

// mayTake reports whether the CLI may get another prompt.
func (s *steered) mayTake() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.HasRoom()
}

// prompt returns the prompt that the CLI was given under an id, nil if it has an
// outcome.
func (s *steered) prompt(id string) *queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.in.Prompt(id)
	return p
}

// answered returns the prompts that a result answers, except one.
func (s *steered) answered(r *message.Result, but string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Answered(r, but)
}

// had reports whether the CLI must not be given an id again.
func (s *steered) had(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Used(id)
}

// giveBound is how long a CLI may take to read a prompt.
const giveBound = 30 * time.Second

// steering gives the CLI prompts that steer its turn, from the call of began until stop
// returns. Before the first line of the turn the CLI may still be at a deferred call,
// which a prompt would make it give up.
func (w *worker) steering() (began, stop func()) {
	begun, done := make(chan struct{}), make(chan struct{})
	session, s := w.session, w.steered
	s.mu.Lock()
	s.in.Open()
	s.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-begun:
		case <-done:
			return
		}
		for {
			select {
			case <-w.c.more:
			case <-done:
				return
			}
			if err := w.give(session, s); err != nil && !w.over() {
				w.opts.Logger.Warn("a prompt could not steer the turn, so it is the next", "conversation", w.c.key, "error", err)
			}
		}
	})
	return sync.OnceFunc(func() { close(begun) }), func() {
		close(done)
		wg.Wait()
	}
}

// give gives the CLI the prompts that may steer its turn.
func (w *worker) give(session *claude.Session, s *steered) error {
	ctx, cancel := context.WithTimeout(w.ctx, giveBound)
	defer cancel()
	if err := s.busy.take(ctx); err != nil {
		return err
	}
	defer s.busy.give()
	for p, err := range w.records.waiting(ctx, w.c.key) {
		if err != nil {
			return err
		}
		if !s.mayTake() || w.over() || w.turnInterrupted() {
			return nil
		}
		if !p.Steer || p.Sent || s.had(p.ID) {
			continue
		}
		// It may be in the queue twice, and the other one was cancelled, or has run.
		if _, ended, err := w.records.outcome(ctx, w.c.key, p.ID); err != nil {
			return err
		} else if ended {
			continue // the next look removes it
		}
		p.Sent, p.Begun = true, p.Begun+1
		err := w.records.update(ctx, p, w.lease.Fence)
		if errors.Is(err, store.ErrConflict) {
			continue // it was cancelled
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.in.Use(p.ID)
		s.in.Give(p.ID, p) // before the CLI can name it
		s.mu.Unlock()
		if _, err := session.SendMessage(ctx, &message.User{Header: message.Header{UUID: p.ID}, Content: p.Content}); err != nil {
			s.forget(p.ID)
			return err // the transcript will show whether the CLI has it
		}
	}
	return nil
}

// takeBack withdraws the prompts that the CLI has not begun, before a call is
// deferred. They steer the turn when it continues.
func (w *worker) takeBack(ctx context.Context, session *claude.Session, s *steered) {
	s.mu.Lock()
	s.in.Shut()
	s.mu.Unlock()
	if s.busy.take(ctx) != nil {
		return
	}
	defer s.busy.give()
	s.mu.Lock()
	given := s.in.Given()
	s.mu.Unlock()
	for _, id := range given {
		w.takeBackOne(ctx, session, s, id, w.lease.Fence)
	}
}

// takeBackOne withdraws a prompt that the CLI has not begun, and reports whether that is
// recorded. The caller has the token.
func (w *worker) takeBackOne(ctx context.Context, session *claude.Session, s *steered, id string, fence store.Fence) bool {
	p := s.prompt(id)
	if p == nil {
		return false
	}
	if back, err := session.CancelPrompt(ctx, id); err != nil || !back {
		return false // the turn has it
	}
	s.forget(id)
	p.Sent, p.Begun = false, p.Begun-1
	if err := w.records.update(ctx, p, fence); err != nil {
		w.opts.Logger.Warn("a prompt that was taken back counts as sent", "conversation", w.c.key, "prompt", p.ID, "error", err)
		return false
	}
	return true
}

// withdrawal returns how to take back what a CLI is given under the lease of now.
func (w *worker) withdrawal(session *claude.Session, s *steered) withdrawal {
	fence := w.lease.Fence
	return func(ctx context.Context, id string) bool {
		if s.busy.take(ctx) != nil {
			return false
		}
		defer s.busy.give()
		return w.takeBackOne(ctx, session, s, id, fence)
	}
}

// withdraw takes a prompt back from the CLI of a conversation that runs here. It reports
// whether it has.
func (r *roster) withdraw(ctx context.Context, key, id string) bool {
	r.mu.Lock()
	var take withdrawal
	if c := r.active[key]; c != nil {
		take = c.withdraw
	}
	r.mu.Unlock()
	return take != nil && take(ctx, id)
}

// passOn shows the messages of a turn to the watchers of prompts that it has taken in.
func (w *worker) passOn(m message.Message, but string) {
	s := w.steered
	s.mu.Lock()
	if s.in.On(m) {
		w.c.signalMore() // there is room for the next
	}
	taken := s.in.Taken()
	s.mu.Unlock()
	for _, id := range taken {
		if id != but {
			w.roster.notify(w.c, id, m, nil)
		}
	}
}

// others counts a result that does not answer the prompt of the step, and ends the
// prompts that it answers.
func (w *worker) others(ctx context.Context, r *message.Result, but string) error {
	w.steered.mu.Lock()
	of := w.steered.in.Turn(r)
	w.steered.mu.Unlock()
	if err := w.count(ctx, r, of); err != nil {
		return err
	}
	return w.endOthers(ctx, r, but, of)
}

// endOthers ends the prompts that a result answers besides the one of the step.
// The turn is that of one prompt, which bears its cost; it took the others in.
func (w *worker) endOthers(ctx context.Context, r *message.Result, but, of string) error {
	for _, id := range w.steered.answered(r, but) {
		p := w.steered.prompt(id)
		if p == nil {
			continue // it was taken back, or ended, meanwhile
		}
		o := w.ticket(r)
		if id != of {
			o.PartOf = of
		}
		if err := w.persist(ctx, func() error { return w.conclude(ctx, p, &o) }); err != nil {
			return err
		}
		w.news.finished(w.c, o)
	}
	return nil
}
