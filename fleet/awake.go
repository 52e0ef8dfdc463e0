package fleet

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store"
)

// liveSession returns the session of a conversation that is awake here, nil if no CLI
// runs, and whether this process has the lease. One that only asks for the lease has
// not: another process may run the conversation.
func (r *roster) liveSession(key string) (s *claude.Session, owned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.active[key]
	if c == nil {
		return nil, false
	}
	return c.session, c.token != 0
}

// liveState returns the live text of a conversation, if it runs here.
func (r *roster) liveState(key string) (state *liveState, here bool) {
	r.mu.Lock()
	c := r.active[key]
	here = c != nil && c.session != nil
	r.mu.Unlock()
	if !here {
		return nil, false
	}
	now := c.liveText.state()
	return &now, true
}

// starts reports whether the CLI of a conversation is being started here.
func (r *roster) starts(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.active[key]
	return c != nil && c.starting
}

// turnOf returns the turn of a conversation that is awake here, nil if it is not.
func (r *roster) turnOf(key string) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.active[key]; c != nil {
		return c.turn
	}
	return nil
}

// ownChoices returns the choices in the options with which the CLI of a
// conversation was started.
func (r *roster) ownChoices(key string) choices {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.active[key]; c != nil {
		return c.own
	}
	return choices{}
}

// leaveWord has the turn of a prompt interrupted as soon as it begins, and reports
// whether the conversation is awake here.
func (r *roster) leaveWord(key, prompt string) (here bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.active[key]
	if c == nil || c.turn == nil {
		return false
	}
	if c.turn.prompt == "" || c.turn.prompt == prompt {
		c.interrupted = prompt
	}
	return true
}

// stop ends the work on a conversation in this process: running work is cut off,
// and nothing begins until unstop.
func (r *roster) stop(ctx context.Context, key string) (*conversation, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	c := r.conversation(key)
	if c.Stopped {
		r.mu.Unlock()
		return nil, &ConversationError{key, ErrDeleted}
	}
	c.Stopped = true
	r.waitlist.Put(c, time.Now())
	c.watching++
	close(c.stop)
	left := c.left
	r.mu.Unlock()
	if left == nil {
		return c, nil
	}
	select {
	case <-left:
		return c, nil
	case <-ctx.Done():
		r.unstop(c)
		return nil, &ConversationError{key, context.Cause(ctx)}
	}
}

// unstop lets the conversation be used again. If it still has prompts, because it could
// not be deleted, the turn that was cut off continues.
func (r *roster) unstop(c *conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Stopped = false
	c.stop = make(chan struct{})
	if len(c.waiting) > 0 {
		r.mark(c)
	}
	r.waitlist.Put(c, time.Now())
	c.watching--
	r.forget(c)
	r.schedule()
}

// hasWaiting reports whether a conversation has prompts, as far as is known here.
func (r *roster) hasWaiting(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.active[key]
	return c != nil && len(c.waiting) > 0
}

// knownPrompts are the names of the prompts that are known to wait.
func (r *roster) knownPrompts() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make(map[string]bool)
	for _, c := range r.active {
		for _, name := range c.waiting {
			names[name] = true
		}
	}
	return names
}

// stuckHere returns the conversations with prompts that sleep because they are stuck.
func (r *roster) stuckHere() (keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, c := range r.active {
		if c.stuck && !c.Wanted && len(c.waiting) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// owns reports whether this process has the lease of a conversation that a fence names.
func (r *roster) owns(f store.Fence) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.active[keyAt(placeOf(f.Name))]
	return c != nil && c.token == f.Token
}
