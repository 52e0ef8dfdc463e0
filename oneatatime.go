package claude

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// oneAtATime holds prompts back from a CLI that neither names nor echoes them.
// Such a CLI folds a prompt that comes while a tool runs into the turn without a
// word, so nobody could know which prompts its result answers. It gets the next
// prompt when the one before has its result.
type oneAtATime struct {
	always bool // whatever version the CLI gives itself

	mu      sync.Mutex
	waiting []heldPrompt
	halted  int // interrupts that are not yet written: they must not hit a prompt that comes after
}

// heldPrompt is a prompt that was not yet written.
type heldPrompt struct {
	id   string
	line []byte
}

// maxHeld is how many prompts may wait.
const maxHeld = 1024

// holdsPrompts reports whether the CLI gets one prompt at a time.
func (s *Session) holdsPrompts() bool {
	return s.held.always || sinceEchoes.missing(s.Info().CLIVersion)
}

// register registers a prompt that is to be written, and reports whether it has
// to wait for its turn. Then it is written later.
func (s *Session) register(p heldPrompt) (waits bool, err error) {
	if !s.holdsPrompts() {
		s.inbox.Sent(p.id)
		return false, nil
	}
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.waiting) >= maxHeld:
		return false, fmt.Errorf("%d prompts wait for the CLI, which takes one at a time", maxHeld)
	case h.halted > 0 || len(h.waiting) > 0 || s.inbox.Prompted():
		h.waiting = append(h.waiting, p)
		s.log.Debug("prompt held back until the one before has its result", "id", p.id, "waiting", len(h.waiting))
		return true, nil
	}
	s.inbox.Sent(p.id)
	return false, nil
}

// sendHeld writes the next prompt that waits, if the CLI is done with the one
// before. It is called after everything that can bring that about.
func (s *Session) sendHeld() {
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted > 0 || len(h.waiting) == 0 || s.inbox.Prompted() {
		return
	}
	next := h.waiting[0]
	h.waiting = h.waiting[1:]
	s.inbox.Sent(next.id)
	go func() { // the reader waits for nobody
		if err := s.peer.Send(context.Background(), next.line); err != nil {
			s.log.Debug("a prompt that waited is not sent", "id", next.id, "error", err) // the session ends
		}
	}()
}

// halt keeps prompts back until an interrupt is written.
func (s *Session) halt() (resume func()) {
	h := &s.held
	h.mu.Lock()
	h.halted++
	h.mu.Unlock()
	return sync.OnceFunc(func() {
		h.mu.Lock()
		h.halted--
		h.mu.Unlock()
		s.sendHeld()
	})
}

// withdraw takes back a prompt that was not written, false if it was.
func (s *Session) withdraw(id string) bool {
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.waiting, func(p heldPrompt) bool { return p.id == id })
	if i < 0 {
		return false
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	return true
}
