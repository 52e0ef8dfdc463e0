package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// asked compares the questions of conversations with their transcripts, and ends those
// that will not be asked again. Its callers have the lease of the conversation.
type asked struct {
	store   *announcer
	project string
	inbox   *approval.Questions
}

// transcript reads the transcript of a session. It returns nil if the store has none or
// if nothing was said in it: before the first prompt the CLI records only its queue,
// and it refuses to resume a session that holds no more than that.
func (a *asked) transcript(ctx context.Context, session string) (*history.Transcript, error) {
	if session == "" {
		return nil, nil
	}
	t, err := history.In(a.store, a.project).Read(ctx, session)
	if errors.Is(err, history.ErrNotFound) || err == nil && t.Len() == 0 {
		return nil, nil
	}
	return t, err
}

// withdrawCall withdraws the question about a deferred call, so that the CLI, which is
// about to make it, is told not to. If the call was let go before, it may run.
func (a *asked) withdrawCall(ctx context.Context, key string, fence store.Fence) error {
	for q, err := range a.inbox.List(ctx, approval.Filter{Conversation: key, States: []approval.State{approval.StateOpen, approval.StateDecided}}) {
		if err != nil {
			return err
		}
		err = a.inbox.Withdraw(ctx, q.ID, approval.OutcomeWithdrawn, "", fence)
		if _, released := errors.AsType[*approval.StateError](err); err != nil && !released {
			return err
		}
	}
	return nil
}

// waits reports whether a question has yet to be decided, or has ended without a decision
// that its prompt still has to learn about. A decided one no longer waits for a person,
// whatever has happened to its call since the prompt was read.
func (a *asked) waits(ctx context.Context, question string) bool {
	if question == "" {
		return false
	}
	q, err := a.inbox.Get(ctx, question)
	return err != nil || q.State == approval.StateOpen || q.State == approval.StateGone
}

// callsIn returns the calls of a transcript and how each ended; empty if it has no
// result.
func callsIn(ctx context.Context, read func() (*history.Transcript, error)) (map[string]approval.Outcome, error) {
	calls := make(map[string]approval.Outcome)
	t, err := read()
	if err != nil || t == nil {
		return calls, err
	}
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return nil, err
		}
		switch m := m.Message.(type) {
		case *message.Assistant:
			for _, c := range m.ToolUses() {
				calls[c.ID] = ""
			}
		case *message.User:
			for _, r := range m.ToolResults() {
				calls[r.ToolUseID] = approval.OutcomeRan
				if r.IsError {
					calls[r.ToolUseID] = approval.OutcomeFailed
				}
			}
		}
	}
	return calls, nil
}
