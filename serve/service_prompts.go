package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// Send sends a prompt to a conversation.
func (s *Service) Send(ctx context.Context, u api.User, id string, p api.NewPrompt) (api.Prompt, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleOperator)
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
	out, err := s.prompter.send(ctx, u, &n, fleet.Prompt{ID: p.ID, Content: content, Steer: p.Delivery == api.DeliverySteer})
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	return out, nil
}

// CancelPrompt removes a prompt that has not begun.
func (s *Service) CancelPrompt(ctx context.Context, u api.User, id, prompt string) error {
	n, err := s.conversations.act(ctx, u, id, api.RoleOperator)
	if err == nil {
		err = s.fleet.Cancel(ctx, n.Key, prompt)
	}
	if err != nil {
		return problemOf(err)
	}
	s.logs.keepWatch(n.Key)
	return nil
}

// Prompt returns a prompt in its current state.
func (s *Service) Prompt(ctx context.Context, u api.User, id, prompt string) (api.Prompt, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	t, err := s.fleet.Prompt(ctx, n.Key, prompt)
	if err != nil {
		return api.Prompt{}, problemOf(err)
	}
	out := api.Prompt{ID: t.Prompt}
	eventlog.TakeTicket(&out, &t)
	if l, release, err := s.logs.use(ctx, n.Key); err == nil {
		sent := l.Sent(ctx, prompt, t.Status.Done())
		out.By, out.Text = sent.By, sent.Text
		release()
	}
	return out, nil
}

// Prompts returns the prompts of a conversation that have not ended.
func (s *Service) Prompts(ctx context.Context, u api.User, id string) ([]api.Prompt, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return nil, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, problemOf(err)
	}
	defer release()
	return l.Open(), nil
}

// Interrupt stops the turn of a conversation, or withdraws the question that it
// waits for.
func (s *Service) Interrupt(ctx context.Context, u api.User, id string) error {
	return s.prompter.command(ctx, u, id, "interrupted the turn", func(ctx context.Context, n *note) error {
		info, err := s.fleet.Get(ctx, n.Key)
		if errors.Is(err, fleet.ErrUnknown) || err == nil && (info.Queued == 0 || info.State == fleet.StateStuck) {
			return idle.because("there is nothing to interrupt")
		}
		if err != nil {
			return err
		}
		return s.fleet.Interrupt(ctx, n.Key)
	})
}

// Retry lets a conversation that has failed try again.
func (s *Service) Retry(ctx context.Context, u api.User, id string) error {
	return s.prompter.command(ctx, u, id, "lets the conversation try again", func(ctx context.Context, n *note) error {
		return s.fleet.Retry(ctx, n.Key)
	})
}

// Prewarm starts the agent of a conversation ahead of its next prompt, see
// [fleet.Fleet.Prewarm]. It does so at most once in a minute for each conversation, so
// that page views do not keep the fleet busy. A conversation that has ended, or that no
// prompt was sent to yet, is left alone. A server whose fleet does not run the conversation
// refuses with the problem "leased".
func (s *Service) Prewarm(ctx context.Context, u api.User, id string) error {
	n, err := s.conversations.act(ctx, u, id, api.RoleOperator)
	if err == nil && !n.Archived && s.prewarmed.due(n.Key, time.Now()) {
		if err = s.fleet.Prewarm(ctx, n.Key); errors.Is(err, fleet.ErrElsewhere) {
			s.prewarmed.undo(n.Key)
		}
	}
	if err != nil && !errors.Is(err, fleet.ErrUnknown) {
		return problemOf(err)
	}
	return nil
}

// Release ends the wait for answers that hold a process: the forms of MCP servers and
// the questions of subagents, which cannot be deferred. It declines them, so nothing
// runs because of it; the turn continues without them, and the process is free for
// others when the turn is over.
func (s *Service) Release(ctx context.Context, u api.User, id string) error {
	n, err := s.conversations.act(ctx, u, id, api.RoleOperator)
	if err == nil {
		err = s.prompter.release(ctx, u, &n)
	}
	if err != nil {
		return problemOf(err)
	}
	return nil
}

// Rewind restores the files that a conversation has edited. The conversation must be
// idle.
func (s *Service) Rewind(ctx context.Context, u api.User, id string, r api.RewindRequest) (api.Rewound, error) {
	return s.prompter.rewind(ctx, u, id, r, "")
}
