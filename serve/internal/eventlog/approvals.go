package eventlog

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// NoteApproval records the state of an approval, unless the log has it. The watcher may
// report a state that it read before a decision; the decision stands.
func (l *Log) NoteApproval(ctx context.Context, note *api.ApprovalNote) error {
	return l.append(ctx, func(*Head) []Event {
		if known, ok := l.approvals[note.ID]; ok && (sameNote(&known, note) || furtherNote(&known, note)) {
			return nil
		}
		return []Event{{Event: api.Event{Type: api.EventApproval, Approval: note}}}
	})
}

// CallBound is how long the log holds a question back for the messages before it. If
// the process that asked has died, some of them may never come.
const CallBound = 5 * time.Second

// AwaitCall waits until the log has the call that a question is about, and so
// everything before it: a client that leaves when a person is asked must not miss any
// of it. It does not wait for calls of subagents, which are in transcripts of their
// own, or for questions of MCP servers, which are not calls.
func (l *Log) AwaitCall(ctx context.Context, approval, call string, by time.Time) {
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	for ctx.Err() == nil {
		next := l.NextChange()
		if l.hasCall(approval, call) || l.Ended() {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// hasCall reports whether the log has a question, or the call that it is about.
func (l *Log) hasCall(approval, call string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.approvals[approval]; known {
		return true
	}
	quoted := []byte(`"` + call + `"`)
	for i := range slices.Backward(l.events) {
		if bytes.Contains(l.events[i].Message, quoted) {
			return true
		}
	}
	return false
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

// ClockSkew is how much the clocks of a store and of this machine may differ.
const ClockSkew = time.Minute

// AcceptedAt returns when a prompt was accepted, or the time of the oldest event in
// memory if the log has forgotten.
func (l *Log) AcceptedAt(prompt string) time.Time {
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

// Remembers reports whether the acceptance of a prompt is in memory.
func (l *Log) Remembers(prompt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.events, func(e Event) bool { return e.Type == api.EventPrompt && e.Prompt.ID == prompt })
}

// Unsettled returns the approvals whose end the log does not have.
func (l *Log) Unsettled() []string {
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
