package acp

import (
	"context"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// remoteTurn is a prompt of the editor that runs, with the messages that steer it. To the
// server all of them are prompts, each with an end of its own: the turn takes a message
// in, or the message becomes the next turn.
type remoteTurn struct {
	prompts []*ownPrompt // the first is the prompt itself
	shut    bool         // it takes nothing more
}

// runs reports whether a message would steer it. Before the prompt runs, the message
// would reach whichever turn does, which may be another user's.
func (t *remoteTurn) runs() bool {
	return t != nil && !t.shut && slices.ContainsFunc(t.prompts, (*ownPrompt).runs)
}

// after returns how a turn has ended, now that another of its prompts has. A message that
// the turn took in ends with it, and one that was taken back does not matter for it.
func (end remoteEnd) after(next remoteEnd) remoteEnd {
	if next.err == nil && (next.turn == nil || next.turn.PartOf != "" || next.turn.State == api.PromptCancelled) {
		return end.with(next.turn)
	}
	return next.with(append(end.earlier, end.turn)...)
}

// with adds turns that have used something.
func (end remoteEnd) with(turns ...*api.Turn) remoteEnd {
	end.earlier = append(slices.Clone(end.earlier), turns...)
	return end
}

// Steer gives the editor's turn another message, once that runs. If the turn does not
// take it in, it is the next one.
func (s *remoteSession) Steer(ctx context.Context, prompt []schema.ContentBlock) error {
	content, err := remoteContent(prompt)
	if err != nil {
		return err
	}
	own := newOwnPrompt()
	if err := s.join(ctx, own); err != nil {
		return err
	}
	defer close(own.asked)
	// Prompt waits for the answer from now on, and takes the message back if the turn is
	// cancelled.
	sending, stop := context.WithTimeout(context.WithoutCancel(ctx), reaching)
	defer stop()
	if _, err := s.server.Send(sending, string(s.id), api.NewPrompt{ID: own.id, Content: content, Delivery: api.DeliverySteer}); err != nil {
		s.settle(own, remoteEnd{})
		return problem(err)
	}
	s.mu.Lock()
	own.sent = true
	s.mu.Unlock()
	return nil
}

// join adds a message to the editor's turn, once that runs.
func (s *remoteSession) join(ctx context.Context, own *ownPrompt) error {
	for {
		s.mu.Lock()
		if ctx.Err() != nil {
			s.mu.Unlock()
			return errNoTurn
		}
		if s.turn.runs() {
			s.turn.prompts = append(s.turn.prompts, own)
			s.own[own.id] = own
			s.mu.Unlock()
			return nil
		}
		if s.moved == nil {
			s.moved = make(chan struct{})
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
}

// wake lets messages look again whether a turn runs. The caller has the lock.
func (s *remoteSession) wake() {
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

// settle ends a prompt of the editor, unless it has ended.
func (s *remoteSession) settle(own *ownPrompt, end remoteEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own[own.id] == own {
		delete(s.own, own.id)
		own.ended <- end
	}
}

// await waits for the end of a turn and of all messages that it was given. Without ok,
// ctx has ended first.
func (s *remoteSession) await(ctx context.Context, t *remoteTurn) (end remoteEnd, ok bool) {
	for i := 0; ; i++ {
		s.mu.Lock()
		if t.shut = i == len(t.prompts) || end.err != nil; t.shut {
			s.mu.Unlock()
			return end, true
		}
		next := t.prompts[i]
		s.mu.Unlock()
		select {
		case e := <-next.ended:
			if i > 0 {
				e = end.after(e)
			}
			end = e
		case <-ctx.Done():
			return end, false
		}
	}
}

// endTurn forgets a turn. Prompts that have not ended by now are left to the
// server.
func (s *remoteSession) endTurn(t *remoteTurn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.shut, s.turn = true, nil
	for _, p := range t.prompts {
		delete(s.own, p.id)
	}
}

// cancel stops a turn, and nothing else. The messages that steer it go first: one that is
// left would begin another turn when this one has ended. Waiting prompts are taken back,
// and only the running one is interrupted. It waits for the end for a while, and returns
// it; end is what has ended so far.
func (s *remoteSession) cancel(ctx context.Context, t *remoteTurn, end remoteEnd) remoteEnd {
	ctx, stop := context.WithTimeout(ctx, reaching)
	defer stop()
	s.mu.Lock()
	t.shut = true
	all := slices.Clone(t.prompts)
	s.mu.Unlock()
	for _, p := range all[1:] {
		select {
		case <-p.asked:
		case <-ctx.Done():
		}
		if s.open(p) && s.server.CancelPrompt(ctx, string(s.id), p.id) == nil {
			s.settle(p, remoteEnd{})
		}
	}
	for i, p := range all {
		if !s.open(p) {
			select {
			case e := <-p.ended: // just before the cancel
				end = end.cancelledWith(e)
			default:
			}
			continue
		}
		// A message that the turn took in runs as long as the turn, and may have ended
		// since: only the prompt is known by its events.
		if err := s.stop(ctx, p, i == 0); err != nil {
			s.log.Warn("acp: a prompt was not cancelled", "session", s.id, "prompt", p.id, "error", err)
		}
		end = end.cancelledWith(s.awaitEnd(p))
	}
	return end
}

// cancelledWith is after in a turn that is cancelled, of which only what it used is told.
func (end remoteEnd) cancelledWith(next remoteEnd) remoteEnd { return end.with(next.turn) }

func (s *remoteSession) open(p *ownPrompt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own[p.id] == p
}

// stop takes a prompt back, or interrupts its turn if it has begun. Events lag behind, so
// a prompt that they do not know to run is looked up: if it has ended, the turn that runs
// is another.
func (s *remoteSession) stop(ctx context.Context, p *ownPrompt, byEvents bool) error {
	s.mu.Lock()
	runs := byEvents && p.runs()
	s.mu.Unlock()
	if !runs {
		err := s.server.CancelPrompt(ctx, string(s.id), p.id)
		if !hasBegun(err) {
			return err
		}
		now, err := s.server.Prompt(ctx, string(s.id), p.id)
		if err != nil || now.State.Done() {
			return err
		}
		runs = now.State == api.PromptRunning || now.State == api.PromptWaiting
	}
	if !runs {
		return nil
	}
	return s.server.Interrupt(ctx, string(s.id))
}

// awaitEnd waits for the end of a prompt for a while.
func (s *remoteSession) awaitEnd(p *ownPrompt) (end remoteEnd) {
	patience := time.NewTimer(stopping)
	defer patience.Stop()
	select {
	case end = <-p.ended:
	case <-patience.C:
	case <-s.ctx.Done():
	}
	return end
}
