package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// Send sends a prompt and returns its id without waiting for an answer. The
// answer arrives on the message stream: read it with Messages. Prompts sent
// while a turn runs wait their turn. Results don't map one-to-one to Send;
// Result.Prompts lists the prompts that a result answers.
func (s *Session) Send(ctx context.Context, prompt string) (id string, err error) {
	return s.SendMessage(ctx, message.NewUser(message.Text(prompt)))
}

// SendMessage sends a prompt with any content, such as images. A UUID set in m
// becomes its id; it must not have been used before.
func (s *Session) SendMessage(ctx context.Context, m *message.User) (id string, err error) {
	if err := s.waitForBarrier(ctx); err != nil {
		return "", err
	}
	own := *m
	own.Raw = nil
	if own.ClientComposed {
		if err := s.cli.checkVerbatim(ctx); err != nil {
			return "", err
		}
	}
	own.ClientComposed = own.ClientComposed || s.opts.VerbatimPrompts // the CLI's support was checked at the start
	if own.UUID == "" {
		own.UUID = uuid.New()
	} else if err := s.claimID(own.UUID); err != nil {
		return "", err
	}
	line, err := jsonx.Marshal(own)
	if err != nil {
		return "", fmt.Errorf("claude: encode prompt: %w", err)
	}
	failed := s.trace.prompt(ctx, own.UUID)
	waits, err := s.register(heldPrompt{own.UUID, line})
	if err != nil {
		s.freeID(own.UUID)
		failed(err)
		return "", fmt.Errorf("claude: send prompt: %w", err)
	}
	s.noteActivity()
	if waits {
		return own.UUID, nil
	}
	if err := s.peer.Send(ctx, line); err != nil {
		failed(err)
		if ctx.Err() != nil && !errors.Is(err, ndjson.ErrNotBegun) {
			s.abandon(own.UUID, false) // the CLI may have read it anyway
		} else {
			s.inbox.Unsent(own.UUID)
			s.freeID(own.UUID)
			s.sendHeld()
			s.noteActivity()
		}
		return "", fmt.Errorf("claude: send prompt: %w", rename(s.broken(ctx, err)))
	}
	return own.UUID, nil
}

// claimID refuses an id that was used before: the CLI drops such a message
// silently, and its answer would never come.
func (s *Session) claimID(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompts.ownIDs[id] {
		return fmt.Errorf("claude: send prompt: message id %s was used before", id)
	}
	if s.prompts.ownIDs == nil {
		s.prompts.ownIDs = make(map[string]bool)
	}
	s.prompts.ownIDs[id] = true
	return nil
}

// freeID gives back an id under which nothing was sent.
func (s *Session) freeID(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.prompts.ownIDs, id)
}

// brokenBound is how long a failed write waits to learn the reason: a little
// longer than the session itself does.
const brokenBound = brokenInputBound + time.Second

// broken turns the error of a write into the reason why the CLI no longer
// reads, if the session has ended or we are ending it.
func (s *Session) broken(ctx context.Context, err error) error {
	if !errors.Is(err, ndjson.ErrBroken) {
		return err
	}
	if cause := s.peer.Cause(); cause != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(ctx, brokenBound)
	defer cancel()
	select {
	case <-s.life.done:
	case <-ctx.Done():
	}
	if cause := s.peer.Cause(); cause != nil {
		return cause // an end in good order has one too
	}
	return err
}

// oneAtATime holds prompts back from a CLI that neither names nor echoes them.
// Such a CLI silently folds a prompt that comes while a tool runs into the
// turn, so its result would not show which prompts it answers. It gets the next
// prompt once the previous one has its result.
type oneAtATime struct {
	always bool // whatever version the CLI reports

	mu      sync.Mutex
	waiting []heldPrompt
	halted  int // interrupts not yet written: they must not hit a later prompt
}

// heldPrompt is a prompt that has not been written yet.
type heldPrompt struct {
	id   string
	line []byte
}

// maxHeld is how many prompts may wait.
const maxHeld = 1024

// holdsPrompts reports whether the CLI gets one prompt at a time.
func (s *Session) holdsPrompts() bool {
	return s.prompts.held.always || sinceEchoes.missing(s.Info().CLIVersion)
}

// register registers a prompt about to be written, and reports whether it has
// to wait for its turn. Then it is written later.
func (s *Session) register(p heldPrompt) (waits bool, err error) {
	if !s.holdsPrompts() {
		s.inbox.Sent(p.id)
		return false, nil
	}
	h := &s.prompts.held
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.waiting) >= maxHeld:
		return false, fmt.Errorf("%d prompts are waiting for the CLI, which takes one at a time", maxHeld)
	case h.halted > 0 || len(h.waiting) > 0 || s.inbox.Prompted():
		h.waiting = append(h.waiting, p)
		s.log.Debug("prompt held back until the one before has its result", "id", p.id, "waiting", len(h.waiting))
		return true, nil
	}
	s.inbox.Sent(p.id)
	return false, nil
}

// sendHeld writes the next waiting prompt if the CLI is done with the previous
// one. It is called after every event that can make that true.
func (s *Session) sendHeld() {
	h := &s.prompts.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted > 0 || len(h.waiting) == 0 || s.inbox.Prompted() {
		return
	}
	next := h.waiting[0]
	h.waiting = h.waiting[1:]
	s.inbox.Sent(next.id)
	go func() { // the reader must not wait
		if err := s.peer.Send(context.Background(), next.line); err != nil {
			s.log.Debug("a prompt that waited is not sent", "id", next.id, "error", err) // the session ends
		}
	}()
}

// halt keeps prompts back until an interrupt is written.
func (s *Session) halt() (resume func()) {
	h := &s.prompts.held
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

// withdraw takes back a prompt; false if it was already written.
func (s *Session) withdraw(id string) bool {
	h := &s.prompts.held
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.waiting, func(p heldPrompt) bool { return p.id == id })
	if i < 0 {
		return false
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	return true
}

// EscapePrompt escapes text written by someone else, so that it is only text
// inside a prompt. The CLI acts on what it finds in prompts, without first
// asking a permission callback or a hook: "@/home/me/.netrc" shows that file to
// the model, "@agent-name" calls an agent, and a prompt that begins with "/"
// may be a command.
//
//	claude.Ask(ctx, "Summarise this mail:\n"+claude.EscapePrompt(mail), opts)
//
// It puts a backslash before every "@" that does not follow a letter or a
// digit, so addresses such as me@example.com stay unchanged, and before a "/"
// at the beginning. It is idempotent: escaping twice changes nothing more.
// Leave a blank between the result and your own mention: text that follows "@"
// without a blank belongs to the mention.
//
// If all prompts are to be taken literally, set [Options.VerbatimPrompts]
// instead, as [Hardened] does. It does not change the text.
func EscapePrompt(text string) string {
	var out strings.Builder
	done := 0        // how much of text has been copied to out
	last := rune(-1) // the previous rune, as far as it counts
	for i, r := range text {
		switch {
		case r == '@' && !(last == '\\' || unicode.IsLetter(last) || unicode.IsDigit(last)),
			r == '/' && last < 0:
			out.WriteString(text[done:i])
			out.WriteByte('\\')
			done = i
		}
		if last >= 0 || !(unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc)) {
			last = r
		}
	}
	out.WriteString(text[done:])
	return out.String()
}
