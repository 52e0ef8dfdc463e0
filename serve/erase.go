package serve

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
)

// Delete deletes a conversation with its history, its questions and its log. What
// somebody sends at the same time is deleted with it, or refused.
func (s *Service) Delete(ctx context.Context, u api.User, id string) error {
	if err := need(u, api.Operator); err != nil {
		return problemOf(err)
	}
	n, err := s.findAny(ctx, u, id) // also what was deleted halfway
	if err == nil && u.Name != n.Owner && u.Role != api.Admin {
		err = forbidden.because("only the owner may delete the conversation")
	}
	if err == nil {
		err = s.erase(ctx, n.Key)
	}
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: deleted a conversation", "conversation", n.Key, "user", u.Name, "address", u.Address)
	s.feed.touch(n.Key)
	return nil
}

// erase removes everything of a conversation, even if the client leaves.
func (s *Service) erase(ctx context.Context, key string) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	by := uuid.New()
	err := s.book.beginErasing(ctx, key, by, func(h *logHead, _ time.Time) error {
		if h.Erasing != nil { // now somebody has asked for it
			h.Erasing = &erasure{Unbooked: h.Erasing.Unbooked}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.finishLater(key, by, s.eraseBegun(ctx, key, by))
}

// finishLater lets a deletion that has failed halfway be finished in the background. If
// nothing was deleted, that ends at once. It returns the error.
func (s *Service) finishLater(key, by string, err error) error {
	if err != nil {
		s.logs.tryErasing(key, func() { s.eraseWhenSent(key, by) })
	}
	return err
}

// errUsed means that a conversation has a prompt.
var errUsed = errors.New("the conversation has a prompt")

// eraseUnused removes a conversation unless a prompt was accepted for it, or may be,
// such as that of another run of the same thread. What somebody has begun to delete is
// deleted in any case.
func (s *Service) eraseUnused(ctx context.Context, key string) error {
	by := uuid.New()
	err := s.book.beginErasing(ctx, key, by, func(h *logHead, now time.Time) error {
		if h.Erasing != nil {
			return nil
		}
		h.Erasing = &erasure{IfUnused: true}
		return s.book.checkUnused(ctx, key, h, now)
	})
	if errors.Is(err, errUsed) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.finishLater(key, by, s.eraseClosed(ctx, key, by))
}

// eraseClosed removes a conversation whose log is closed, unless it is to be removed
// only if it is unused, and the fleet says that it was used: then it stays. The head of
// the log says so, for those who continue after a crash must ask as well.
func (s *Service) eraseClosed(ctx context.Context, key, by string) error {
	head, _, err := s.book.head(ctx, key)
	if err != nil {
		return err
	}
	if head.Erasing == nil || !head.Erasing.IfUnused {
		return s.eraseBegun(ctx, key, by)
	}
	used, err := s.usedInFleet(ctx, key)
	switch {
	case err != nil:
		return err
	case used:
		return s.undelete(ctx, key, by)
	}
	return s.eraseBegun(ctx, key, by)
}

// undelete reopens a conversation: it is not deleted after all. The note
// comes first: nobody removes the note of a conversation whose log is closed.
func (s *Service) undelete(ctx context.Context, key, by string) error {
	if err := s.notes.unmarkDeleted(ctx, key); err != nil {
		return err
	}
	return s.book.endErasing(ctx, key, by)
}

// usedInFleet reports whether the fleet has or had a prompt for a conversation. It
// asks twice: the fleet reads what a conversation has cost before it reads the queue,
// so a prompt that ends in between is in neither.
func (s *Service) usedInFleet(ctx context.Context, key string) (bool, error) {
	for range 2 {
		info, err := s.fleet.Get(ctx, key)
		switch {
		case errors.Is(err, fleet.ErrUnknown), errors.Is(err, fleet.ErrDeleted):
			return false, nil
		case err != nil:
			return false, err
		case info.Queued > 0 || info.Cost.Turns > 0:
			return true, nil
		}
	}
	return false, nil
}

// eraseBegun removes a conversation whose log is closed. The note stays until nothing
// else is left, so it can be tried again, and the next server to start does.
func (s *Service) eraseBegun(ctx context.Context, key, by string) error {
	first, awaited := false, false
	now, err := s.opts.Records.Now(ctx)
	var info fleet.ConversationInfo
	if err == nil {
		if info, err = s.fleet.Get(ctx, key); overWith(err) {
			err = nil
		}
	}
	if err == nil {
		first, err = s.notes.markDeleted(ctx, key, info.Created, now)
	}
	if err == nil {
		err = s.closeBooks(ctx, key, by, info.Unprompted, now)
	}
	if err == nil { // before the fleet deletes: what is sent until then, it deletes
		awaited, err = s.awaitsPrompts(ctx, key)
	}
	if err == nil {
		err = s.deleteInFleet(ctx, key)
	}
	if err != nil {
		return errors.Join(err, s.stopErasing(ctx, key, by, first))
	}
	s.logs.drop(key)
	if awaited {
		s.logs.inBackground(func() { s.eraseWhenSent(key, by) })
		return nil
	}
	return s.eraseRest(ctx, key, by)
}

// deleteInFleet removes what the fleet has of a conversation.
func (s *Service) deleteInFleet(ctx context.Context, key string) error {
	err := s.fleet.Delete(ctx, key)
	if errors.Is(err, fleet.ErrUnknown) {
		return nil
	}
	return err
}

// stopErasing lets a conversation be used again that could not be deleted, for example
// because another process is running it. One that may be deleted by half is left for
// the next attempt, which can be made at once.
func (s *Service) stopErasing(ctx context.Context, key, by string, first bool) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if first {
		if _, err := s.fleet.Get(ctx, key); err == nil {
			return s.undelete(ctx, key, by)
		}
	}
	return s.book.changeErasing(ctx, key, by, func(e *erasure) *erasure { return e.passTo(by, time.Time{}) })
}

// eraseWhenSent removes the rest of a conversation when nobody can give the fleet a
// prompt for it any more: the fleet would begin it again.
func (s *Service) eraseWhenSent(key, by string) {
	ctx, warned := s.logs.ctx, false
	for attempt := 0; ctx.Err() == nil; attempt++ {
		waitTurn(ctx, nil, backoff(attempt))
		awaited, err := s.awaitsPrompts(ctx, key)
		if err == nil && !awaited {
			err = s.finishErasing(ctx, key, by)
		}
		switch {
		case err == nil && !awaited:
			return
		case err != nil && !deleting.is(err) && !warned:
			warned = true
			s.warn(ctx, "a conversation is not deleted completely yet", key, err)
		}
	}
}

// awaitsPrompts reports whether the fleet may still get a prompt for a conversation.
func (s *Service) awaitsPrompts(ctx context.Context, key string) (bool, error) {
	now, err := s.opts.Records.Now(ctx)
	if err != nil {
		return false, err
	}
	head, _, err := s.book.head(ctx, key)
	return head.awaited(now), err
}

// finishErasing removes what is left of a conversation that somebody has begun to
// delete. If others may still be at it, the problem says so.
func (s *Service) finishErasing(ctx context.Context, key, by string) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	err := s.book.beginErasing(ctx, key, by, func(h *logHead, _ time.Time) error {
		if h.Erasing == nil {
			return errErased
		}
		return nil
	})
	if errors.Is(err, errErased) {
		return s.notes.drop(ctx, key)
	}
	if err != nil {
		return err
	}
	return s.eraseClosed(ctx, key, by)
}

// errErased means that a log is not being deleted: it is gone, or a new one.
var errErased = errors.New("the log is not being deleted")

// eraseRest removes the log and then the note. What was spent stays.
func (s *Service) eraseRest(ctx context.Context, key, by string) error {
	if err := s.keepSpending(ctx, key); err != nil {
		return err
	}
	if err := s.forgetAbout(ctx, key); err != nil {
		return err
	}
	if err := s.book.drop(ctx, key, by); err != nil {
		return err
	}
	return s.notes.drop(ctx, key)
}

// overWith reports whether an error says that a conversation is deleted, or about to
// be.
func overWith(err error) bool {
	return deleting.is(err) || notFound.is(err) || errors.Is(err, fleet.ErrDeleted) || errors.Is(err, fleet.ErrUnknown)
}
