package host

import (
	"context"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// Unfinished is the turn that a resumed conversation was left in.
type Unfinished struct {
	// Prompt is the id of the prompt, and Content its content.
	Prompt  string
	Content message.Content
	// Deferred is true if a hook deferred a call, which is made again; the result
	// then names no prompt. Otherwise the turn broke off, and its result names
	// the prompt.
	Deferred bool
}

// ownPrompt reports whether the client did not send it, and does not know it.
func (q *queued) ownPrompt() bool { return q.continues != nil && q.continues.Deferred }

// finish begins the turn that is unfinished. The client's hooks are known.
func (s *session) finish() {
	u := s.opts.Unfinished
	if u == nil {
		return
	}
	announced := make(chan struct{})
	close(announced)
	id := u.Prompt
	if u.Deferred {
		id = uuid.New()
	}
	s.mu.Lock()
	s.opts.Unfinished = nil // initialize may come again
	s.seen[u.Prompt] = true
	s.queue = append(s.queue, &queued{
		User:      &message.User{Header: message.Header{UUID: id}, Content: u.Content},
		continues: u, announced: announced,
	})
	s.mu.Unlock()
	s.wakeRunner()
}

// Unfinished returns the turn that this one continues, or nil if a prompt began
// it.
func (t *Turn) Unfinished() *Unfinished { return t.prompts[0].continues }

// Repeat makes a call that a hook deferred before the conversation was resumed.
// Hooks are asked about it again, without the id of a prompt: it belongs to none
// of this process.
func (t *Turn) Repeat(ctx context.Context, c Call) (ToolOutput, error) {
	if _, err := c.prepare(); err != nil {
		return ToolOutput{}, err
	}
	t.repeating.Store(true)
	defer t.repeating.Store(false)
	outputs, err := t.use(ctx, []*Call{&c})
	return outputs[0], err
}
