package host

import (
	"context"
	"slices"

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
		s.mirror.takenIn(q)
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

// queued is a prompt that waits.
type queued struct {
	*message.User
	ended     *subagent       // it is about the end of this one
	continues *Unfinished     // it continues this turn
	during    bool            // came while a turn ran
	announced chan struct{}   // closed when the client was told that it waits
	served    <-chan struct{} // closed when the requests that were read before it are served; nil: there were none

	interrupted bool // before its turn began
}

// isBehind reports whether the prompt was read after the request that is being served.
// To a CLI that reads line by line it is not there yet.
func (q *queued) isBehind() bool {
	if q.served == nil {
		return false
	}
	select {
	case <-q.served:
		return false
	default:
		return true
	}
}

// isNotification reports whether the prompt came from no client: it announces the
// end of a subagent.
func (q *queued) isNotification() bool { return q.ended != nil }

func merges(q *queued) bool { return q.during && q.UUID != "" && asksModel(q.User) }

// asksModel reports whether a message wants an answer.
func asksModel(m *message.User) bool { return m.ShouldQuery == nil || *m.ShouldQuery }

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
