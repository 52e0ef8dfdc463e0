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

// noteApproval writes down how an approval stands, unless that is known. The
// watcher may come with what it has read before a decision; the decision stands.
func (l *eventLog) noteApproval(ctx context.Context, q *approval.Question) error {
	note := api.ApprovalNote{
		ID: q.ID, Kind: kindOf(q.Tool), Tool: q.Tool, ToolUseID: q.ToolUseID, Title: titleOf(q), State: stateOf(q), Outcome: api.Outcome(q.Outcome),
	}
	if q.Answer != nil {
		note.DecidedBy, note.DecidedAt = q.Answer.By, q.Answer.At.UTC()
	}
	return l.append(ctx, func(*logHead) []logEvent {
		if known, ok := l.approvals[q.ID]; ok && (sameNote(&known, &note) || furtherNote(&known, &note)) {
			return nil
		}
		return []logEvent{{Event: api.Event{Type: api.EventApproval, Approval: &note}}}
	})
}

// callBound is how long a question waits in the log for what was said before it.
// If the process that asked has died, some of that may never come.
const callBound = 5 * time.Second

// awaitCall waits until the log has the call that a question is about, so that it
// has all that was said before: a client that leaves when a person is asked must
// not miss it. The calls of subagents are in transcripts of their own, and what an
// MCP server asks is not a call.
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

// hasCall reports whether the log has the call that a question is about, or the
// question.
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

// later does something for a conversation without holding up the others, behind
// what was to be done for it before.
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

// sameNote reports whether two notes say the same.
func sameNote(n, o *api.ApprovalNote) bool {
	return n.State == o.State && n.Outcome == o.Outcome && n.DecidedBy == o.DecidedBy && n.DecidedAt.Equal(o.DecidedAt)
}

// furtherNote reports whether a note knows more than another one, which was read
// before.
func furtherNote(n, o *api.ApprovalNote) bool {
	return n.DecidedBy != "" && o.DecidedBy == "" || n.Outcome != "" && o.Outcome == ""
}

// lookAgain writes down how the approvals stand whose end the log does not have.
// The watcher sees only those that wait while it looks: not one that ended
// before this process began, or between two looks.
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

// noteQuestions writes down how the questions stand that were asked since a prompt
// was accepted. One that was asked and has ended between two looks of the watcher
// was seen by nobody.
func (s *logs) noteQuestions(ctx context.Context, l *eventLog, prompt string) error {
	since := l.accepted(prompt).Add(-clockSkew)
	for q, err := range s.fleet.Approvals().List(ctx, approval.Filter{Conversation: l.key}) {
		if err == nil && q.Asked.After(since) {
			err = l.noteApproval(ctx, &q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clockSkew is by how much the clocks of a store and of this machine may differ.
const clockSkew = time.Minute

// accepted is when a prompt was accepted. If the log has forgotten that, it is the
// time of the oldest event that it remembers.
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
