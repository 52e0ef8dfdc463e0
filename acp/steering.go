package acp

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// giving is how long a CLI may take to read a message that steers.
const giving = 30 * time.Second

// steering are the messages that were given to a turn while it ran, and are not answered
// yet. Its zero value has no turn. It is a plain value.
type steering struct {
	open  bool
	named bool // the CLI reports which messages a result answers
	cut   bool // the turn was cancelled while messages were left
	left  map[string]bool
}

// begin opens it for a turn whose prompt the CLI has.
func (s *steering) begin() { *s = steering{open: true} }

// give notes a message, and reports whether there is a turn to give it to.
func (s *steering) give(id string) bool {
	if !s.open {
		return false
	}
	if s.left == nil {
		s.left = make(map[string]bool)
	}
	s.left[id] = true
	return true
}

// takeBack forgets a message that was not sent.
func (s *steering) takeBack(id string) { delete(s.left, id) }

// note takes from a message what it reports about those that are left. One that ends in
// the queue gets no result.
func (s *steering) note(msg message.Message) {
	switch msg := msg.(type) {
	case *message.Result:
		s.named = s.named || len(msg.Prompts) > 0
		for _, id := range msg.Prompts {
			delete(s.left, id)
		}
	case *message.CommandLifecycle:
		switch msg.State {
		case message.CommandCompleted, message.CommandCancelled, message.CommandDiscarded, message.CommandRefused:
			delete(s.left, msg.CommandUUID)
		}
	}
}

// over reports whether a turn whose prompt is answered has ended, and closes it then.
// CLIs that do not name what a result answers are not waited for: their next result may
// never come.
func (s *steering) over() bool {
	if s.named && len(s.left) > 0 {
		return false
	}
	s.open = false
	return true
}

// cancel closes it, because the turn is cancelled. The prompts that remain are
// still awaited.
func (s *steering) cancel() {
	s.open, s.cut = false, s.cut || len(s.left) > 0
}

// end closes it: the prompts that remain are no longer awaited.
func (s *steering) end() { *s = steering{} }

// Steer gives the running turn another message. The CLI takes it in when it has the
// result of a tool, and else begins with it when it has answered: nothing is cut off.
func (s *localSession) Steer(ctx context.Context, prompt []schema.ContentBlock) error {
	blocks, err := contentOf(prompt)
	if err != nil {
		return err
	}
	m := message.NewUser(blocks...)
	m.UUID = uuid.New()
	turn, err := s.awaitTurn(ctx, m.UUID)
	if err != nil {
		return err
	}
	defer turn.leave()
	// Prompt waits for the answer from now on, so an editor that withdraws the request
	// comes too late.
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), giving)
	defer cancel()
	if err = turn.wait(sending); err == nil {
		_, err = s.cli.SendMessage(sending, m)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.steering.takeBack(m.UUID); s.wake != nil && s.steering.over() {
			s.wake()
		}
	}
	return err
}

// awaitTurn gives a message to the turn that runs, or to the one that is about to. It
// returns the place of the message among those that are sent.
func (s *localSession) awaitTurn(ctx context.Context, id string) (place, error) {
	for {
		s.mu.Lock()
		if ctx.Err() != nil {
			s.mu.Unlock()
			return place{}, errNoTurn
		}
		if s.steering.give(id) {
			defer s.mu.Unlock()
			return s.sends.join(), nil
		}
		if s.begun == nil {
			s.begun = make(chan struct{})
		}
		begun := s.begun
		s.mu.Unlock()
		select {
		case <-begun:
		case <-ctx.Done():
		}
	}
}

// openSteering lets a turn take in more. Its prompt must be sent: a message that
// overtakes it would begin a turn of its own. After a cancel it stays closed.
func (s *localSession) openSteering(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	s.steering.begin()
	if s.begun != nil {
		close(s.begun)
		s.begun = nil
	}
}

// cancelSteering lets a cancelled turn take in nothing more, and reports whether messages
// were left.
func (s *localSession) cancelSteering() (cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steering.cancel()
	return s.steering.cut
}

func (s *localSession) endSteering() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steering.end()
	s.wake = nil
}

// steered reports whether a turn has more to answer. If so, it returns a context that
// ends when there is nothing left to wait for.
func (s *localSession) steered(turn context.Context) (context.Context, context.CancelFunc, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steering.over() {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(turn)
	s.wake = cancel
	return ctx, cancel, true
}

// noteSteered notes what a message reports, and whether the turn has ended with it.
func (s *localSession) noteSteered(msg message.Message) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steering.note(msg)
	return s.wake != nil && s.steering.over()
}
