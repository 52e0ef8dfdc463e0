package serve

import (
	"context"
	"errors"
	"strings"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Send sends a prompt to a conversation.
func (s *Service) Send(ctx context.Context, u api.User, id string, p api.NewPrompt) (api.Prompt, error) {
	n, err := s.act(ctx, u, id, api.Operator)
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	content, err := contentOf(p.Content)
	if err != nil {
		return api.Prompt{}, err
	}
	if p.ID != "" && !uuid.Valid(p.ID) {
		return api.Prompt{}, badRequest.because("the id %q of the prompt is not a UUID", p.ID)
	}
	out, err := s.send(ctx, u, &n, fleet.Prompt{ID: p.ID, Content: content, Steer: p.Delivery == api.DeliverySteer})
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	return out, nil
}

// contentOf reads what a prompt says.
func contentOf(raw []byte) (message.Content, error) {
	var content message.Content
	if err := content.UnmarshalJSON(raw); err != nil || len(content) == 0 {
		return nil, badRequest.because("content must be a text that is not empty, or a list of blocks as in the Messages API")
	}
	for _, block := range content {
		switch b := block.(type) {
		case *message.TextBlock:
			if strings.TrimSpace(b.Text) == "" {
				return nil, badRequest.because("a text of the content is empty")
			}
		case *message.ImageBlock, *message.DocumentBlock:
		default:
			return nil, badRequest.because("a block of the content is neither text nor an image nor a document")
		}
	}
	return content, nil
}

// send gives a prompt to the fleet and writes it down. It does both even if the
// client leaves: the log must know what was accepted, and what it costs.
func (s *Service) send(ctx context.Context, u api.User, n *note, p fleet.Prompt) (api.Prompt, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if p.ID == "" {
		p.ID = uuid.New()
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return api.Prompt{}, err
	}
	defer release()
	l.mu.Lock()
	known, again := l.prompts[p.ID]
	over, older := l.closed, l.first > 1
	l.mu.Unlock()
	switch {
	case over == wasDeleted:
		return api.Prompt{}, beingDeleted()
	case over != "":
		return api.Prompt{}, closing.because("%s; try again in a moment", over)
	case again:
		return known, nil
	}
	if older {
		// One that has ended may be older than what the log keeps in memory. Taken up
		// again, it would be a turn twice.
		if t, err := s.fleet.Prompt(ctx, n.Key, p.ID); err == nil && t.Status.Done() {
			out := api.Prompt{ID: p.ID, By: u.Name, Text: textOf(&p)}
			takeTicket(&out, &t)
			return out, nil
		} else if err != nil && !errors.Is(err, fleet.ErrUnknown) {
			return api.Prompt{}, err
		}
	}
	if n.Archived {
		return api.Prompt{}, hasEnded()
	}
	out := api.Prompt{ID: p.ID, State: api.PromptQueued, By: u.Name, Text: textOf(&p)}
	if err := s.checkBudget(ctx, n); err != nil {
		return api.Prompt{}, err
	}
	sender, err := l.intend(ctx, out)
	if err != nil {
		return api.Prompt{}, err
	}
	if err := s.checkTakesPrompts(ctx, n.Key); err != nil {
		return api.Prompt{}, errors.Join(err, s.book.leave(ctx, n.Key, sender))
	}
	if _, err := s.fleet.Send(ctx, n.Key, p); refused(err) {
		return api.Prompt{}, errors.Join(err, l.refuse(ctx, sender))
	} else if err != nil {
		s.logs.keepWatch(n.Key) // it may have been accepted
		return api.Prompt{}, err
	}
	out, err = l.confirm(ctx, sender, out)
	if overWith(err) {
		// The fleet has begun the conversation again. The one who deletes it waits
		// until this has left, and removes that too.
		_ = s.fleet.Cancel(ctx, n.Key, p.ID)
		return api.Prompt{}, errors.Join(err, s.book.leave(ctx, n.Key, sender))
	}
	s.logs.keepWatch(n.Key)
	return out, err
}

// checkTakesPrompts returns a problem if a conversation was archived or deleted a moment
// ago. Those who do that later find the attempt to send in the head of the log. But a
// head that somebody else, who was late too, has begun anew says nothing about a
// deletion that is over.
func (s *Service) checkTakesPrompts(ctx context.Context, key string) error {
	n, _, err := s.notes.loadAny(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound): // not begun here, or gone
		_, err = s.fleet.Get(ctx, key)
		return err
	case err != nil:
		return err
	case !n.Deleted.IsZero():
		return beingDeleted()
	case n.Archived:
		return hasEnded()
	}
	return nil
}

// hasEnded is the problem of a prompt for an archived conversation.
func hasEnded() *api.Problem {
	return ended.because("it is archived and takes no prompts: PATCH it with \"archived\": false first, or fork it")
}

// maxPromptText is how much of a prompt its event keeps.
const maxPromptText = 4000

// textOf is what a prompt says in text.
func textOf(p *fleet.Prompt) string {
	text := p.Text
	for _, block := range p.Content {
		if b, ok := block.(*message.TextBlock); ok {
			text = strings.TrimPrefix(text+"\n"+b.Text, "\n")
		}
	}
	if len(text) > maxPromptText {
		text = strings.ToValidUTF8(text[:maxPromptText], "") + "…"
	}
	return text
}

// CancelPrompt removes a prompt that has not begun.
func (s *Service) CancelPrompt(ctx context.Context, u api.User, id, prompt string) error {
	n, err := s.act(ctx, u, id, api.Operator)
	if err == nil {
		err = s.fleet.Cancel(ctx, n.Key, prompt)
	}
	if err != nil {
		return problemOf(err)
	}
	s.logs.keepWatch(n.Key)
	return nil
}

// Prompt returns how a prompt stands.
func (s *Service) Prompt(ctx context.Context, u api.User, id, prompt string) (api.Prompt, error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	t, err := s.fleet.Prompt(ctx, n.Key, prompt)
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	out := api.Prompt{ID: t.Prompt}
	takeTicket(&out, &t)
	if l, release, err := s.logs.use(ctx, n.Key); err == nil {
		l.mu.Lock()
		out.By, out.Text = l.prompts[prompt].By, l.prompts[prompt].Text
		l.mu.Unlock()
		release()
	}
	return out, nil
}

// Prompts returns the prompts of a conversation that have not ended.
func (s *Service) Prompts(ctx context.Context, u api.User, id string) ([]api.Prompt, error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return nil, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, problemOf(err)
	}
	defer release()
	return l.open(), nil
}
