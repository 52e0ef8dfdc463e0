package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Erase ends the questions of a deleted conversation with the outcome [Deleted],
// and removes the contents of all its questions, their answers and the rules of
// the conversation. A tombstone of each question stays, so that a late decision
// gets [ErrGone]; [Questions.Forget] removes that too. Erase is idempotent. With
// a fence, it is refused in the same cases as an append.
func (qs *Questions) Erase(ctx context.Context, conversation string, f store.Fence) error {
	for v, err := range qs.scan(ctx, conversation) {
		if err != nil {
			return err
		}
		if v.Conversation != conversation {
			continue
		}
		_, err := qs.change(ctx, v.ID, f, func(q *Question, now time.Time) error {
			if string(q.Input) == erased && q.State.over() {
				return errUnchanged
			}
			if !q.State.over() {
				q.end(Deleted, now)
			}
			*q = Question{
				ID: q.ID, Conversation: q.Conversation, Tool: q.Tool, ToolUseID: q.ToolUseID, Input: json.RawMessage(erased), Digest: q.Digest, Deciders: q.Deciders,
				State: q.State, Asked: q.Asked, Outcome: q.Outcome, Ended: q.Ended,
			}
			return nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return qs.eraseRules(ctx, conversation, f)
}

// erased is the input of a question whose conversation was deleted.
const erased = "null"

// eraseRules removes the rules of a conversation.
func (qs *Questions) eraseRules(ctx context.Context, conversation string, f store.Fence) error {
	for {
		_, revision, err := qs.rules(ctx, conversation)
		if err != nil || revision == 0 {
			return err
		}
		err = qs.records.DropRecord(ctx, qs.rulesKey(conversation), revision, f)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
