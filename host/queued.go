package host

import (
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// TakeQueued takes the prompts into the turn that came while it ran, and returns
// them: the result answers them too. The CLI does so when it has the results of
// tools, before it asks the model again; an agent that calls no tools has
// nothing to take in. Prompts without an id, and those that come after the last
// tool, wait for a turn of their own. A subagent gets none.
func (t *Turn) TakeQueued() []*message.User {
	s := t.s
	if t.sub != nil || t.isOver() {
		return nil
	}
	s.mu.Lock()
	var taken []*queued
	s.queue = slices.DeleteFunc(slices.Clone(s.queue), func(q *queued) bool {
		if merges(q) {
			taken = append(taken, q)
		}
		return merges(q)
	})
	s.mu.Unlock()
	var users []*message.User
	for _, q := range taken {
		s.await(q.announced)
		s.mirrorTakenIn(q)
		s.lifecycle(q, message.CommandStarted)
		users = append(users, q.User)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takenIn = append(t.takenIn, taken...)
	return users
}

// others are the prompts that the turn has taken in.
func (t *Turn) others() []*queued {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.takenIn)
}

// mirrorTakenIn repeats a prompt that a turn has taken in. The CLI writes it as
// an attachment, and before it that the prompt has left the queue.
func (s *session) mirrorTakenIn(q *queued) {
	if s.opts.MirrorTo == "" {
		return
	}
	now := time.Now().UTC()
	delivery := uuid.New()
	s.mirrorEntries(s.transcriptFile(""),
		map[string]any{"type": "queue-operation", "operation": "enqueue", "timestamp": now, "sessionId": s.sessionID()},
		map[string]any{
			"type": "queue-operation", "operation": "remove", "timestamp": now, "sessionId": s.sessionID(),
			"reason": "absorbed_mid_turn", "commandUuid": q.UUID, "deliveryId": delivery,
		})
	s.mirrorLine(mirroredLine{Type: "attachment", UUID: uuid.New(), Attachment: map[string]any{
		"type": "queued_command", "prompt": q.Content, "source_uuid": q.UUID, "delivery_id": delivery, "commandMode": "prompt", "timestamp": now,
	}})
}
