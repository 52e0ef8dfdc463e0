package serve

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// noteApproval records the state of an approval, unless the log has it. The watcher may
// report a state that it read before a decision; the decision stands.
func (l *eventLog) noteApproval(ctx context.Context, q *approval.Question) error {
	note := api.ApprovalNote{
		ID: q.ID, Kind: kindOf(q.Tool), Tool: q.Tool, ToolUseID: q.ToolUseID, Title: titleOf(q), State: stateOf(q), Outcome: api.Outcome(q.Outcome),
	}
	if q.Answer != nil {
		note.DecidedBy, note.DecidedAt, note.Mode = q.Answer.By, q.Answer.At.UTC(), modeAfter(q)
	}
	return l.append(ctx, func(*logHead) []logEvent {
		if known, ok := l.approvals[q.ID]; ok && (sameNote(&known, &note) || furtherNote(&known, &note)) {
			return nil
		}
		return []logEvent{{Event: api.Event{Type: api.EventApproval, Approval: &note}}}
	})
}

// callBound is how long the log holds a question back for the messages before it. If
// the process that asked has died, some of them may never come.
const callBound = 5 * time.Second

// awaitCall waits until the log has the call that a question is about, and so
// everything before it: a client that leaves when a person is asked must not miss any
// of it. It does not wait for calls of subagents, which are in transcripts of their
// own, or for questions of MCP servers, which are not calls.
func (l *eventLog) awaitCall(ctx context.Context, q *approval.Question, by time.Time) {
	if q.Agent != "" || kindOf(q.Tool) == api.KindElicitation {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	for ctx.Err() == nil {
		next := l.nextChange()
		if l.hasCall(q) || l.ended() {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// hasCall reports whether the log has a question, or the call that it is about.
func (l *eventLog) hasCall(q *approval.Question) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.approvals[q.ID]; known {
		return true
	}
	call := []byte(`"` + q.ToolUseID + `"`)
	for i := range slices.Backward(l.events) {
		if bytes.Contains(l.events[i].Message, call) {
			return true
		}
	}
	return false
}

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

// sameNote reports whether two notes are equal.
func sameNote(n, o *api.ApprovalNote) bool {
	return n.State == o.State && n.Outcome == o.Outcome && n.DecidedBy == o.DecidedBy && n.DecidedAt.Equal(o.DecidedAt)
}

// furtherNote reports whether a note is further along than another, which was read
// earlier.
func furtherNote(n, o *api.ApprovalNote) bool {
	return n.DecidedBy != "" && o.DecidedBy == "" || n.Outcome != "" && o.Outcome == ""
}

// lookAgain records the state of the approvals whose end the log does not have. The
// watcher sees only approvals that are pending while it looks, so it misses one that
// ended before this process began or between two looks.
func (s *logs) lookAgain(ctx context.Context, l *eventLog) error {
	for _, id := range l.unsettled() {
		q, err := s.fleet.Approvals().Get(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // forgotten
		}
		if err == nil {
			err = l.noteApproval(ctx, &q)
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
func (s *logs) noteQuestions(ctx context.Context, l *eventLog, prompt string) error {
	if !l.remembers(prompt) {
		if err := l.recallAll(ctx); err != nil {
			return err
		}
	}
	since := l.accepted(prompt).Add(-clockSkew)
	for q, err := range s.fleet.Approvals().List(ctx, approval.Filter{Conversation: l.key}) {
		if err == nil && q.Asked.After(since) {
			if err = l.recallApproval(ctx, &q); err == nil { // otherwise it may be recorded twice
				err = l.noteApproval(ctx, &q)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clockSkew is how much the clocks of a store and of this machine may differ.
const clockSkew = time.Minute

// accepted returns when a prompt was accepted, or the time of the oldest event in
// memory if the log has forgotten.
func (l *eventLog) accepted(prompt string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events {
		if e := &l.events[i]; e.Type == api.EventPrompt && e.Prompt.ID == prompt {
			return e.At
		}
	}
	if len(l.events) == 0 {
		return time.Now()
	}
	return l.events[0].At
}

// remembers reports whether the acceptance of a prompt is in memory.
func (l *eventLog) remembers(prompt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.events, func(e logEvent) bool { return e.Type == api.EventPrompt && e.Prompt.ID == prompt })
}

// unsettled returns the approvals whose end the log does not have.
func (l *eventLog) unsettled() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, n := range l.approvals {
		if n.Outcome == "" {
			ids = append(ids, id)
		}
	}
	return ids
}
