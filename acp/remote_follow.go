package acp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

const (
	// barrenFollows is how often a place may yield nothing before the session continues
	// at the newest event: the server has forgotten the place, and does not lag behind
	// another one on the same store.
	barrenFollows = 4
	// followPause is the pause before the first attempt to follow again. It doubles up
	// to followPauseMost.
	followPause     = time.Second
	followPauseMost = 30 * time.Second
)

// follow starts the follower, once.
func (s *remoteSession) follow() {
	s.following.Do(func() {
		go func() {
			defer close(s.done)
			s.read()
		}()
	})
}

// read shows what happens until the session is closed, or the server refuses. After an
// outage it continues at the same place, so that nothing is missed. Only a place that
// yields nothing although the server answers is given up.
func (s *remoteSession) read() {
	after, barren, answers := s.after, 0, false
	for {
		came, err := false, error(nil)
		for e, failure := range s.server.Follow(s.ctx, string(s.id), after) {
			if err = failure; err != nil {
				break
			}
			came, after = true, max(after, e.Seq)
			s.take(&e)
		}
		if barren++; came {
			barren, answers = 0, false
		}
		if barren >= barrenFollows && !refuses(err) {
			var next int64
			if next, err = s.newest(); err == nil && next != after {
				if !answers {
					answers = true
					continue // once more, now that the server is known to answer
				}
				if err = s.catchUp(after, next); err == nil {
					after, barren, answers = next, 0, false
					continue
				}
			}
		}
		if s.ctx.Err() != nil {
			return
		}
		if refuses(err) {
			s.fail(err)
			return
		}
		s.log.Warn("acp: a conversation cannot be followed; it is tried again", "session", s.id, "error", err)
		if !s.pause(barren) {
			return
		}
	}
}

// refuses reports whether the server will not let the session be followed, however
// often it is asked.
func refuses(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone}, p.Status)
}

// pause waits before the next attempt. It reports whether the session continues.
func (s *remoteSession) pause(attempt int) bool {
	timer := time.NewTimer(min(followPause<<min(attempt, 10), followPauseMost))
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// newest returns the place of the newest event.
func (s *remoteSession) newest() (int64, error) {
	ctx, cancel := context.WithTimeout(s.ctx, reaching)
	defer cancel()
	own, err := s.server.Conversation(ctx, string(s.id))
	return own.LastSeq, err
}

// catchUp shows the messages that were missed between two places, and ends the prompts
// that have ended meanwhile.
func (s *remoteSession) catchUp(after, last int64) error {
	ctx, cancel := context.WithTimeout(s.ctx, reaching)
	defer cancel()
	if last > after { // otherwise the log was begun anew
		if err := s.show(ctx, after, last, false); err != nil {
			return err
		}
	}
	return s.reconcile(ctx)
}

// show shows the messages between two events.
func (s *remoteSession) show(ctx context.Context, after, last int64, replayed bool) error {
	var pages [][]api.Message
	for before := last + 1; before > after+1; {
		list, err := s.server.Messages(ctx, string(s.id), api.MessageQuery{Before: before, Limit: 200})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			break
		}
		pages = append(pages, list.Items)
		if list.Next == "" || list.Items[0].Seq >= before {
			break
		}
		before = list.Items[0].Seq
	}
	for _, page := range slices.Backward(pages) {
		for _, m := range page {
			if m.Seq > after {
				s.send(ctx, s.said(m.Message, replayed)...)
			}
		}
	}
	return ctx.Err()
}

// reconcile ends the editor's prompts whose end was missed.
func (s *remoteSession) reconcile(ctx context.Context) error {
	s.mu.Lock()
	var ids []string
	for id, own := range s.own {
		if own.sent {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ids {
		p, err := s.server.Prompt(ctx, string(s.id), id)
		switch gone, _ := errors.AsType[*api.Problem](err); {
		case gone != nil && gone.Status == http.StatusNotFound:
			s.finish(id, remoteEnd{err: errorf(schema.ErrorCodeInternalError, "the server no longer knows the prompt, and its end was missed: open the session again with session/load")})
		case err != nil:
			return err
		case p.State.Done():
			s.finish(id, remoteEnd{turn: &api.Turn{Prompt: id, State: p.State, Error: p.Error}})
		default:
			s.prompted(&p)
		}
	}
	return nil
}

// fail ends the prompts of a session that cannot be followed any more.
func (s *remoteSession) fail(err error) {
	s.log.Warn("acp: a conversation is not followed any more", "session", s.id, "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	for _, p := range s.own {
		p.ended <- remoteEnd{err: err}
	}
	clear(s.own)
}

// finish ends a prompt of the editor.
func (s *remoteSession) finish(id string, end remoteEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts.ended(id)
	if own := s.own[id]; own != nil {
		delete(s.own, id)
		own.ended <- end
	}
}
