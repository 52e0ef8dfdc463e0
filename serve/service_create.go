package serve

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// creation is a request for a conversation, with what the server adds to it.
type creation struct {
	api.NewConversation
	id      string        // chosen by an Idempotency-Key
	request string        // what id was, if a session decides about that
	first   *fleet.Prompt // instead of Prompt
}

// Create begins a conversation.
func (s *Service) Create(ctx context.Context, u api.User, c api.NewConversation) (api.Conversation, error) {
	return s.create(ctx, u, creation{NewConversation: c})
}

func (s *Service) create(ctx context.Context, u api.User, c creation) (api.Conversation, error) {
	if err := need(u, api.Operator); err != nil {
		return api.Conversation{}, err
	}
	if err := s.prepareSession(ctx, u, &c); err != nil {
		return api.Conversation{}, problemOf(err)
	}
	n, err := s.newNote(ctx, u, &c)
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	first := c.firstPrompt(n.Key)
	if first != nil {
		n.First = first.ID
		if err := s.checkBudget(ctx, &n); err != nil {
			return api.Conversation{}, problemOf(err)
		}
	}
	if c.session() != "" || c.Fork != nil {
		var cancel context.CancelFunc
		ctx, cancel = lasting(ctx)
		defer cancel()
	}
	if err := s.makeConversation(ctx, u, &n, &c); err != nil {
		return api.Conversation{}, problemOf(err)
	}
	if c.session() != "" {
		s.awaitSaid(ctx, &n, &c)
	}
	if first != nil {
		if _, err := s.send(ctx, u, &n, *first); err != nil {
			if c.Resume != "" {
				return api.Conversation{}, resumedWithout(&n, err)
			}
			s.undo(ctx, &n, err)
			return api.Conversation{}, problemOf(err)
		}
	}
	s.feed.touch(n.Key)
	return s.Conversation(ctx, u, idOf(n.Key))
}

// makeConversation makes a conversation, with what it takes over and with its note.
func (s *Service) makeConversation(ctx context.Context, u api.User, n *note, c *creation) (err error) {
	if c.Fork != nil {
		if err := s.beginFork(ctx, n.Key); err != nil {
			return err
		}
		defer func() { s.endFork(ctx, n.Key, err == nil) }()
	}
	if err := s.takeOver(ctx, u, n, c); err != nil {
		return err
	}
	if n.Created, err = s.opts.Records.Now(ctx); err == nil {
		err = s.notes.create(ctx, n)
	}
	if errors.Is(err, store.ErrConflict) {
		var made bool
		if made, err = s.madeBefore(ctx, n, c); err == nil && !made {
			err = beingDeleted() // it was there a moment ago
		}
	}
	return err
}

// madeBefore reports whether the request has made its conversation in an earlier
// attempt. What another request has made is not for this one.
func (s *Service) madeBefore(ctx context.Context, n *note, c *creation) (bool, error) {
	old, _, err := s.notes.loadAny(ctx, n.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !old.Deleted.IsZero():
		return false, beingDeleted()
	case c.Resume != "" && (c.request == "" || old.Request != c.request):
		return false, alreadyResumed(n, c)
	}
	return true, nil
}

// takeOver gives a new conversation what was said before, if it is to continue or
// to copy something.
func (s *Service) takeOver(ctx context.Context, u api.User, n *note, c *creation) error {
	switch {
	case c.session() != "":
		return s.fromDisk(ctx, n, c)
	case c.Fork != nil:
		return s.fork(ctx, u, n, c)
	}
	return nil
}

// firstPrompt is the prompt that a conversation begins with, nil if there is none.
func (c *creation) firstPrompt(key string) *fleet.Prompt {
	if c.first == nil && c.Prompt != "" {
		return &fleet.Prompt{ID: uuidFrom("first prompt", key), Text: c.Prompt}
	}
	return c.first
}

// lastingBound is how long something may take that must not end halfway because
// its client has left.
const lastingBound = 30 * time.Second

// lasting is a context that does not end with the request.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lastingBound)
}

// undo removes a new conversation whose first prompt was refused, so that both
// exist or neither. If nobody knows whether the prompt was accepted, or if another
// one was, the conversation stays.
func (s *Service) undo(ctx context.Context, n *note, refusal error) {
	if !refused(refusal) {
		return
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := s.eraseUnused(ctx, n.Key); err != nil && !deleting.is(err) {
		s.opts.Logger.Warn("a conversation that did not begin is left, empty", "conversation", n.Key, "error", err)
	}
}

// refused reports whether an error says that a prompt was not accepted. After any
// other one it may have been, or may still be: a write that was given up can land
// late.
func refused(err error) bool {
	for _, definite := range []error{fleet.ErrOverloaded, fleet.ErrBudget, fleet.ErrStuck, store.ErrInvalid, claude.ErrUnsupportedVersion} {
		if errors.Is(err, definite) {
			return true
		}
	}
	return budget.is(err)
}

// newNote checks what is asked for.
func (s *Service) newNote(ctx context.Context, u api.User, c *creation) (note, error) {
	p := find(s.opts.Presets, c.Preset)
	if p == nil {
		var names []string
		for i := range s.opts.Presets {
			names = append(names, s.opts.Presets[i].Name)
		}
		return note{}, unknownPreset.because("this server has %s", strings.Join(names, ", "))
	}
	if err := p.choose(c.Model, c.Mode); err != nil {
		return note{}, err
	}
	dir, err := p.dir(c.Dir)
	if err != nil {
		return note{}, err
	}
	if err := checkTexts(c.Title, c.Labels); err != nil {
		return note{}, err
	}
	return note{
		Key: tenantOf(u.Name) + "/" + cmp.Or(c.id, uuid.New()), Owner: u.Name, Preset: p.Name, Title: cmp.Or(c.Title, firstLine(c.Prompt)),
		Dir: dir, Shared: c.Shared, Labels: c.Labels, Model: c.Model, Mode: c.Mode,
	}, nil
}

// The sizes of titles and labels.
const (
	maxTitle  = 200
	maxLabels = 20
	maxLabel  = 60
)

func checkTexts(title string, labels []string) error {
	if utf8.RuneCountInString(title) > maxTitle {
		return badRequest.because("the title has more than %d characters", maxTitle)
	}
	if len(labels) > maxLabels {
		return badRequest.because("there are more than %d labels", maxLabels)
	}
	for _, l := range labels {
		if l == "" || utf8.RuneCountInString(l) > maxLabel {
			return badRequest.because("a label has 1 to %d characters", maxLabel)
		}
	}
	return nil
}

// firstLine is the beginning of a text in one line.
func firstLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(line) <= 80 {
		return line
	}
	return string([]rune(line)[:79]) + "…"
}
