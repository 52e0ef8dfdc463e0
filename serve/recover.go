package serve

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// recoverAll continues what was begun before the server started: prompts without an
// answer, those whose end was never written down, conversations that never got their
// first prompt, and those that are only half deleted.
func (s *Service) recoverAll(ctx context.Context) {
	var young []string // somebody may be about to send it
	one := func(n *note, err error) bool {
		if err != nil {
			s.warn(ctx, "conversations cannot be read", "", err)
			return false
		}
		if s.recoverOne(ctx, n) {
			young = append(young, n.Key)
		}
		return true
	}
	known := make(map[string]bool)
	for n, err := range s.notes.each(ctx) {
		known[n.Key] = true
		if !one(&n, err) {
			break
		}
	}
	for info, err := range s.fleet.List(ctx) { // not begun here, but used here
		if !known[info.Key] && !one(&note{Key: info.Key}, err) {
			break
		}
	}
	if len(young) == 0 {
		return
	}
	waitTurn(ctx, nil, settledAfter)
	for _, key := range young {
		n, _, err := s.notes.load(ctx, key)
		if err == nil {
			s.recoverOne(ctx, &n)
		} else if !errors.Is(err, store.ErrNotFound) {
			s.warn(ctx, "a conversation cannot be read", key, err)
		}
	}
}

// recoverOne continues one conversation. It reports whether that has to wait.
func (s *Service) recoverOne(ctx context.Context, n *note) (wait bool) {
	wait, err := s.recoverConversation(ctx, n)
	if err != nil {
		s.warn(ctx, "a conversation cannot be recovered", n.Key, err)
	}
	return wait
}

// warn logs what went wrong, unless the server closes.
func (s *Service) warn(ctx context.Context, what, key string, err error) {
	if ctx.Err() == nil {
		s.opts.Logger.Warn(what, "conversation", key, "error", err)
	}
}

func (s *Service) recoverConversation(ctx context.Context, n *note) (wait bool, err error) {
	head, _, err := s.book.head(ctx, n.Key)
	if err != nil {
		return false, err
	}
	if head.Erasing != nil || !n.Deleted.IsZero() {
		s.logs.inBackground(func() { s.eraseWhenSent(n.Key, uuid.New()) })
		return false, nil
	}
	if len(head.openAfter(head.Events)) > 0 || len(head.Accepting) > 0 {
		s.logs.keepWatch(n.Key)
	}
	if n.First == "" || n.ForkOf != "" || n.Resumed != "" || n.Copied != "" || head.last() > 0 {
		return false, nil // it may be empty, or has something in it
	}
	now, err := s.opts.Records.Now(ctx)
	if err != nil {
		return false, err
	}
	if now.Sub(n.Created) < settledAfter {
		return true, nil
	}
	if err := s.eraseUnused(ctx, n.Key); !deleting.is(err) {
		return false, err
	}
	return false, nil
}
