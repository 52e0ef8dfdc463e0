package serve

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/acp/schema"
)

// editorCount counts the editors that are connected, so that Close can wait for them.
type editorCount struct {
	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup
}

// enter counts an editor. It reports false when the server closes.
func (c *editorCount) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.work.Add(1)
	return true
}

func (c *editorCount) leave() { c.work.Done() }

// close lets no more editors in and waits until all have left.
func (c *editorCount) close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.work.Wait()
}

// countedSessions is a back-end whose open sessions count as event streams: each follows
// a conversation.
type countedSessions struct {
	acp.Backend
	enter func() bool
	leave func()
}

// New implements [acp.Backend].
func (b *countedSessions) New(ctx context.Context, e *acp.Editor, req *schema.NewSessionRequest) (acp.AgentSession, error) {
	return b.open(func() (acp.AgentSession, error) { return b.Backend.New(ctx, e, req) })
}

// Load implements [acp.Backend].
func (b *countedSessions) Load(ctx context.Context, e *acp.Editor, req *schema.LoadSessionRequest) (acp.AgentSession, error) {
	return b.open(func() (acp.AgentSession, error) { return b.Backend.Load(ctx, e, req) })
}

// Resume implements [acp.Backend].
func (b *countedSessions) Resume(ctx context.Context, e *acp.Editor, req *schema.ResumeSessionRequest) (acp.AgentSession, error) {
	return b.open(func() (acp.AgentSession, error) { return b.Backend.Resume(ctx, e, req) })
}

// Fork implements [acp.Backend].
func (b *countedSessions) Fork(ctx context.Context, e *acp.Editor, req *schema.ResumeSessionRequest) (acp.AgentSession, error) {
	return b.open(func() (acp.AgentSession, error) { return b.Backend.Fork(ctx, e, req) })
}

// open opens a session if there is room for one. Otherwise it begins nothing.
func (b *countedSessions) open(do func() (acp.AgentSession, error)) (acp.AgentSession, error) {
	if !b.enter() {
		return nil, &schema.Error{
			Code:    schema.ErrorCodeInvalidRequest,
			Message: "too many sessions and event streams of this user are open on the server: close some with session/close, or come back later",
		}
	}
	leave := sync.OnceFunc(b.leave)
	opened := false
	defer func() {
		if !opened { // do failed or panicked
			leave()
		}
	}()
	s, err := do()
	if err != nil {
		return nil, err
	}
	opened = true
	return &countedSession{AgentSession: s, leave: leave}, nil
}

// countedSession gives its place back when it is closed.
type countedSession struct {
	acp.AgentSession
	leave func()
}

// Close implements [acp.AgentSession].
func (s *countedSession) Close() error {
	defer s.leave()
	return s.AgentSession.Close()
}
