package serve

import (
	"context"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/serve/api"
)

// userServer is the service as one user sees it. It calls user before each use, because
// tokens are revoked and roles change.
type userServer struct {
	service *Service
	user    func() (api.User, error)
}

var _ acp.RemoteServer = (*userServer)(nil)

// as calls do as the user.
func as[T any](s *userServer, do func(api.User) (T, error)) (T, error) {
	u, err := s.user()
	if err != nil {
		return *new(T), err
	}
	return do(u)
}

// act is [as] without a result.
func (s *userServer) act(do func(api.User) error) error {
	_, err := as(s, func(u api.User) (struct{}, error) { return struct{}{}, do(u) })
	return err
}

func (s *userServer) Info(ctx context.Context) (api.ServerInfo, error) {
	return as(s, func(u api.User) (api.ServerInfo, error) { return s.service.Info(ctx, u) })
}

func (s *userServer) ConversationPage(ctx context.Context, q api.ConversationQuery) (api.List[api.Conversation], error) {
	return as(s, func(u api.User) (api.List[api.Conversation], error) { return s.service.Conversations(ctx, u, q) })
}

func (s *userServer) Conversation(ctx context.Context, id string) (api.Conversation, error) {
	return as(s, func(u api.User) (api.Conversation, error) { return s.service.Conversation(ctx, u, id) })
}

func (s *userServer) Create(ctx context.Context, n api.NewConversation) (api.Conversation, error) {
	return as(s, func(u api.User) (api.Conversation, error) { return s.service.Create(ctx, u, n) })
}

func (s *userServer) Change(ctx context.Context, id string, ch api.Change) (api.Conversation, error) {
	return as(s, func(u api.User) (api.Conversation, error) { return s.service.Change(ctx, u, id, ch, "") })
}

func (s *userServer) Delete(ctx context.Context, id string) error {
	return s.act(func(u api.User) error { return s.service.Delete(ctx, u, id) })
}

func (s *userServer) Messages(ctx context.Context, id string, q api.MessageQuery) (api.List[api.Message], error) {
	return as(s, func(u api.User) (api.List[api.Message], error) { return s.service.Messages(ctx, u, id, q) })
}

func (s *userServer) Commands(ctx context.Context, id string) ([]api.Command, error) {
	list, err := as(s, func(u api.User) (api.List[api.Command], error) { return s.service.Commands(ctx, u, id) })
	return list.Items, err
}

func (s *userServer) Send(ctx context.Context, id string, p api.NewPrompt) (api.Prompt, error) {
	return as(s, func(u api.User) (api.Prompt, error) { return s.service.Send(ctx, u, id, p) })
}

func (s *userServer) Prompts(ctx context.Context, id string) ([]api.Prompt, error) {
	return as(s, func(u api.User) ([]api.Prompt, error) { return s.service.Prompts(ctx, u, id) })
}

func (s *userServer) Prompt(ctx context.Context, id, prompt string) (api.Prompt, error) {
	return as(s, func(u api.User) (api.Prompt, error) { return s.service.Prompt(ctx, u, id, prompt) })
}

func (s *userServer) CancelPrompt(ctx context.Context, id, prompt string) error {
	return s.act(func(u api.User) error { return s.service.CancelPrompt(ctx, u, id, prompt) })
}

func (s *userServer) Interrupt(ctx context.Context, id string) error {
	return s.act(func(u api.User) error { return s.service.Interrupt(ctx, u, id) })
}

func (s *userServer) Approval(ctx context.Context, id string) (api.Approval, error) {
	return as(s, func(u api.User) (api.Approval, error) { return s.service.Approval(ctx, u, id) })
}

func (s *userServer) Approvals(ctx context.Context, q api.ApprovalQuery) iter.Seq2[api.Approval, error] {
	return allPages(q.Cursor, func(cursor string) (api.List[api.Approval], error) {
		q.Cursor = cursor
		return as(s, func(u api.User) (api.List[api.Approval], error) { return s.service.Approvals(ctx, u, q) })
	})
}

func (s *userServer) Decide(ctx context.Context, id string, d api.Decision) (api.Approval, error) {
	return as(s, func(u api.User) (api.Approval, error) { return s.service.Decide(ctx, u, id, d) })
}

// Follow yields events for as long as the user may see the conversation.
func (s *userServer) Follow(ctx context.Context, id string, after int64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		events, err := as(s, func(u api.User) (iter.Seq[api.Event], error) { return s.service.Follow(ctx, u, id, after) })
		if err != nil {
			yield(api.Event{}, err)
			return
		}
		go func() {
			look := time.NewTicker(lookAgain)
			defer look.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-look.C:
				}
				err := s.act(func(u api.User) error { _, err := s.service.conversations.find(ctx, u, id); return err })
				if unauthorized.is(err) || forbidden.is(err) || notFound.is(err) {
					cancel(problemOf(err))
				}
			}
		}()
		for e := range events {
			if e.Type == api.EventReset || e.Type == api.EventBye {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(api.Event{}, err)
		}
	}
}

// allPages yields the items of all pages of a list, from a cursor on.
func allPages[T any](cursor string, page func(cursor string) (api.List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := cursor; ; {
			list, err := page(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range list.Items {
				if !yield(item, nil) {
					return
				}
			}
			if cursor = list.Next; cursor == "" {
				return
			}
		}
	}
}
