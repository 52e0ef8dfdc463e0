package serve

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// later runs do in the background: after earlier work for the same conversation, and
// without holding up the others.
func (s *logs) later(ctx context.Context, key string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	before, done := s.doing[key], make(chan struct{})
	s.doing[key] = done
	s.work.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if close(done); s.doing[key] == done {
				delete(s.doing, key)
			}
		}()
		if before != nil {
			<-before
		}
		if ctx.Err() == nil {
			do()
		}
	})
}

// lookAgain records the state of the approvals whose end the log does not have. The
// watcher sees only approvals that are pending while it looks, so it misses one that
// ended before this process began or between two looks.
func (s *logs) lookAgain(ctx context.Context, l *eventlog.Log) error {
	for _, id := range l.Unsettled() {
		q, err := s.fleet.Approvals().Get(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // forgotten
		}
		if err == nil {
			err = l.NoteApproval(ctx, noteOf(&q))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteQuestions records the state of all questions that were asked since a prompt was
// accepted. The watcher has missed any that was asked and settled between two of its
// looks.
func (s *logs) noteQuestions(ctx context.Context, l *eventlog.Log, prompt string) error {
	if !l.Remembers(prompt) {
		if err := l.RecallAll(ctx); err != nil {
			return err
		}
	}
	since := l.AcceptedAt(prompt).Add(-eventlog.ClockSkew)
	for q, err := range s.fleet.Approvals().List(ctx, approval.Filter{Conversation: l.Key()}) {
		if err == nil && q.Asked.After(since) {
			if err = l.RecallApproval(ctx, q.ID, q.Asked); err == nil { // otherwise it may be recorded twice
				err = l.NoteApproval(ctx, noteOf(&q))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteOf returns the state of an approval as the log has it.
func noteOf(q *approval.Question) *api.ApprovalNote {
	note := &api.ApprovalNote{
		ID: q.ID, Kind: kindOf(q.Tool), Tool: q.Tool, ToolUseID: q.ToolUseID, Title: titleOf(q), State: stateOf(q), Outcome: api.Outcome(q.Outcome),
	}
	if q.Answer != nil {
		note.DecidedBy, note.DecidedAt, note.Mode = q.Answer.By, q.Answer.At.UTC(), modeAfter(q)
	}
	return note
}
